import { findMisfit } from '../forms/answer.js';
import type { Form } from '../forms/fields.js';
import { validationError } from '../platform/errors.js';

/** Characters of an answer as compact JSON. */
const MAX_CONTENT_LENGTH = 100_000;

interface AskedQuestion {
  mode: 'form' | 'url';
  requestedSchema: Form | null;
}

interface GivenAnswer {
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, unknown> | null;
}

/**
 * Checks the content of an answer against its form, which was checked when it was asked. Fields that the form does not have
 * are refused.
 * @param path of the answer in the request
 * @throws ServiceError validation_error
 */
export function checkContent(
  { mode, requestedSchema }: AskedQuestion,
  { action, content }: GivenAnswer,
  path: string,
): void {
  if (mode === 'url' || action !== 'accept') {
    if (content != null) throw validationError(`${path}/content`, 'is allowed only with accept of a form');
    return;
  }
  if (content == null) throw validationError(`${path}/content`, 'is required with accept of a form');
  if (JSON.stringify(content).length > MAX_CONTENT_LENGTH) {
    throw validationError(`${path}/content`, `must have at most ${MAX_CONTENT_LENGTH} characters as compact JSON`);
  }
  const misfit = findMisfit(requestedSchema!, content);
  if (misfit !== null) throw validationError(`${path}/content${misfit.path}`, misfit.message);
}

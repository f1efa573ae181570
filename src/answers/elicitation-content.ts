import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { pointerToken, validationError } from '../platform/errors.js';

/** Characters of an answer as compact JSON. */
const MAX_CONTENT_LENGTH = 100_000;

interface AskedQuestion {
  mode: 'form' | 'url';
  requestedSchema: Record<string, unknown> | null;
}

interface GivenAnswer {
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, unknown> | null;
}

/**
 * Checks the content of an answer against the form's schema, which was checked when it was asked: flat, and without patterns.
 * Fields that the form does not have are refused.
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
  // A validator of its own, because a compiled schema would stay in a shared one.
  const ajv = new Ajv({ strict: false, addUsedSchema: false });
  formats.default(ajv);
  const valid = ajv.compile({ ...requestedSchema, additionalProperties: false });
  if (valid(content)) return;
  const [error] = valid.errors!;
  const { missingProperty, additionalProperty } = error!.params as Record<string, string | undefined>;
  const field = missingProperty ?? additionalProperty;
  const place = field === undefined ? error!.instancePath : `/${pointerToken(field)}`;
  const message =
    missingProperty !== undefined
      ? 'is required'
      : additionalProperty !== undefined
        ? 'is not a field of the form'
        : (error!.message ?? 'does not fit the form');
  throw validationError(`${path}/content${place}`, message);
}

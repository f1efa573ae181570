import { findMisfit } from '../../forms/answer.js';
import type { Form } from '../../forms/fields.js';
import { validationError } from '../../platform/errors.js';
import { EXPIRES_AT, type WaitKind } from './wait-kind.js';

/** Characters of an answer as compact JSON. */
const MAX_CONTENT_LENGTH = 100_000;

/** What a server asks. Its schema was checked when it came. */
export interface AskedQuestion {
  mode: 'form' | 'url';
  message: string;
  requested_schema: Form | null;
  url: string | null;
  /** The id of the server's request, as JSON. */
  request: string;
}

const OF_CALL = `'type', w.kind, 'elicitation_id', w.id, 'tool_use_id', w.tool_use_id, 'name', c.name,
  'mode', w.ask->'mode', 'message', w.ask->'message'`;

/** A question that a server asks during a call (decisions.md "Tasks and elicitation"). */
export const question: WaitKind<AskedQuestion, 'user.elicitation_result'> = {
  type: 'elicitation',
  action: `CASE w.ask->>'mode'
    WHEN 'form' THEN json_build_object(${OF_CALL}, 'requested_schema', w.ask->'requested_schema', ${EXPIRES_AT})
    ELSE json_build_object(${OF_CALL}, 'url', w.ask->'url', ${EXPIRES_AT}) END`,
  answers: {
    'user.elicitation_result'(ask, answer, path) {
      checkContent(ask, answer, path);
      return 'answered';
    },
  },
  // The call goes on by itself.
  resultOf: () => null,
  onExpiry: 'close',
  takenBy: 'call',
};

interface GivenAnswer {
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, unknown> | null;
}

/** Checks the content of an answer against its form. Fields that the form does not have are refused. */
function checkContent(
  { mode, requested_schema }: Pick<AskedQuestion, 'mode' | 'requested_schema'>,
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
  const misfit = findMisfit(requested_schema!, content);
  if (misfit !== null) throw validationError(`${path}/content${misfit.path}`, misfit.message);
}

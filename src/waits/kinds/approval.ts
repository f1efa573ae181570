import { NO_ANNOTATIONS, type AskedTool } from '../../mcp/asked-tool.js';
import { validationError } from '../../platform/errors.js';
import { CALL_FIELDS, errorResult, EXPIRES_AT, reasonOf, type WaitKind } from './wait-kind.js';

/** The tool, if it is known, and what the policy of the turn said about the call. */
export interface AskedApproval extends Partial<AskedTool> {
  /** The groups of which one decides. Without them anybody who may approve does. */
  approvers?: readonly string[];
}

const SHOWN = `${CALL_FIELDS}, 'title', w.ask->'title',
  'annotations', coalesce(w.ask->'annotations', '${JSON.stringify(NO_ANNOTATIONS)}'), ${EXPIRES_AT}`;

/** A call that a person allows or denies (decisions.md "Person in the loop"). */
export const approval: WaitKind<AskedApproval, 'user.tool_confirmation'> = {
  type: 'tool_confirmation',
  action: `CASE WHEN w.ask->'approvers' IS NULL THEN json_build_object(${SHOWN})
    ELSE json_build_object(${SHOWN}, 'approvers', w.ask->'approvers') END`,
  approversOf: ({ approvers = [] }) => approvers,
  answers: {
    'user.tool_confirmation'({ may_remember = false }, { result, input, remember }, path) {
      if (remember !== null && input !== null)
        throw validationError(`${path}/remember`, 'cannot be combined with a changed input');
      if (remember !== null && !may_remember)
        throw validationError(`${path}/remember`, 'is not allowed: each call of this tool must be allowed by a person');
      return result === 'allow' ? 'allowed' : 'denied';
    },
  },
  resultOf(outcome, answer) {
    if (outcome === 'allowed') return null;
    if (outcome !== 'denied') return errorResult(NOT_ANSWERED);
    return errorResult(
      `This call was denied by a person and was not run. ${reasonOf(answer!.deny_message)} ` +
        'Do not make the same call again in this turn: it would be denied without asking. Go on without it or change it.',
    );
  },
  onExpiry: 'close',
  takenBy: 'workflow',
};

const NOT_ANSWERED =
  'This call was not answered in time, so it was not run. No one decided about it. ' +
  'Go on without it, or make it again if it is still needed.';

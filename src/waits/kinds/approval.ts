import { CALL_FIELDS, errorResult, EXPIRES_AT, reasonOf, type WaitKind } from './wait-kind.js';

/** What the policy of the turn said about the call. */
export interface AskedApproval {
  /** The groups of which one decides. Without them anybody who may approve does. */
  approvers?: readonly string[];
}

/** A call that a person allows or denies (decisions.md "Person in the loop"). */
export const approval: WaitKind<AskedApproval, 'user.tool_confirmation'> = {
  type: 'tool_confirmation',
  action: `CASE WHEN w.ask->'approvers' IS NULL THEN json_build_object(${CALL_FIELDS}, ${EXPIRES_AT})
    ELSE json_build_object(${CALL_FIELDS}, 'approvers', w.ask->'approvers', ${EXPIRES_AT}) END`,
  answers: { 'user.tool_confirmation': (_, { result }) => (result === 'allow' ? 'allowed' : 'denied') },
  approversOf: ({ approvers = [] }) => approvers,
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

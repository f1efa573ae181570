import { CALL_FIELDS, errorResult, EXPIRES_AT, type WaitKind } from './wait-kind.js';

/** A call that the client runs (decisions.md "Person in the loop"). */
export const clientTool: WaitKind<object, 'user.custom_tool_result'> = {
  type: 'custom_tool_result',
  action: `json_build_object(${CALL_FIELDS}, ${EXPIRES_AT})`,
  answers: { 'user.custom_tool_result': () => 'answered' },
  resultOf(outcome, answer) {
    if (outcome !== 'answered') return errorResult(NOT_ANSWERED);
    return { text: answer!.content, isError: answer!.is_error, isClientResult: true };
  },
  onExpiry: 'close',
  takenBy: 'workflow',
};

const NOT_ANSWERED =
  'This call was not answered in time: the client sent no result, so its outcome is unknown. ' +
  'Go on without it, or make it again if it is still needed.';

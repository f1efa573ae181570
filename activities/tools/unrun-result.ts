import type { EventData } from '../../src/events/schema.js';
import type { ToolCallRow } from '../../src/steps/tool-call.js';
import { TurnEndedError } from '../../src/turns/errors.js';
import { textResult, type ToolResult } from './tool.js';

/**
 * Returns the result for the model of a call that was denied, expired, or was run by the client (contract.md §6).
 * @throws TurnEndedError if the call still waits, because the tables were restored from a backup older than the workflow
 */
export function unrunResult({ turnId, action, authorization }: ToolCallRow): ToolResult & { isClientResult: boolean } {
  if (authorization?.state === 'denied')
    return { ...textResult(notWanted(authorization.answer!.deny_message), true), isClientResult: false };
  if (authorization?.state === 'expired') return { ...textResult(NOT_AUTHORIZED, true), isClientResult: false };
  switch (action?.state) {
    case 'answered': {
      const { content, is_error } = action.answer as EventData['user.custom_tool_result'];
      return { ...textResult(content, is_error), isClientResult: true };
    }
    case 'denied': {
      const { deny_message } = action.answer as EventData['user.tool_confirmation'];
      return { ...textResult(denied(deny_message), true), isClientResult: false };
    }
    case 'expired':
      return { ...textResult(NOT_ANSWERED[action.kind], true), isClientResult: false };
    default:
      throw new TurnEndedError(turnId);
  }
}

function denied(message: string | null): string {
  const reason = message === null ? 'No reason was given.' : `The person wrote: ${message}`;
  return (
    `This call was denied by a person and was not run. ${reason} ` +
    'Do not make the same call again in this turn: it would be denied without asking. Go on without it or change it.'
  );
}

function notWanted(message: string | null): string {
  const reason = message === null ? 'No reason was given.' : `The person wrote: ${message}`;
  return `The person did not authorize the server of this call, so it was not run. ${reason} Go on without it.`;
}

const NOT_AUTHORIZED =
  'This call was not run: its server was not authorized in time by the user of the session. ' +
  'Go on without it, or make it again if it is still needed.';

const NOT_ANSWERED = {
  tool_confirmation:
    'This call was not answered in time, so it was not run. No one decided about it. ' +
    'Go on without it, or make it again if it is still needed.',
  custom_tool_result:
    'This call was not answered in time: the client sent no result, so its outcome is unknown. ' +
    'Go on without it, or make it again if it is still needed.',
};

import type { CallRun, Pause } from '../../activities/tools/tool-kind.js';
import type { TurnContext } from '../../src/steps/context.js';
import type { ToolCallRow } from '../../src/steps/tool-call.js';

export const NO_PAUSE: Pause = { begin: () => () => Promise.resolve() };

/** A call of a turn without a workspace, in its first attempt. */
export function callRun(call: ToolCallRow): CallRun {
  return {
    turn: { id: 'turn_1', sessionId: 'ses_1', workspace: null } as TurnContext,
    call,
    attempt: { id: { workerId: 'worker_1', token: new Uint8Array() }, lostWorkers: 0 },
    signal: new AbortController().signal,
    beatSlowly: () => () => undefined,
  };
}

import { isoOf, microsOf } from '../platform/timestamps.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import { openWait } from './store.js';

export { reasonOf } from './kinds/wait-kind.js';

interface WaitingCall {
  turnId: string;
  step: number;
  index: number;
  toolUseId: string;
}

const HAS_WAITED = `SELECT FROM waits WHERE turn_id = $1 AND step = $2 AND index = $3 AND kind = 'time'`;

/**
 * Has a call wait from now on. May be repeated, and by two attempts at once: a call waits once.
 * @throws TurnEndedError, OvertakenError
 */
export function waitForTime(
  deps: TurnDeps,
  { turnId, step, index, toolUseId }: WaitingCall,
  seconds: number,
): Promise<void> {
  return changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    if ((await tx.query<object[]>(HAS_WAITED, [turnId, step, index])).length > 0) return turn.stayStill();
    await openWait(tx, turn, step, { kind: 'time', index, toolUseId }, seconds);
    const until = isoOf(microsOf(turn.at) + seconds * 1_000_000);
    turn.append({ type: 'agent.wait', data: { tool_use_id: toolUseId, until } });
  });
}

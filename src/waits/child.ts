import type { Tx } from '../db/db.js';
import type { Turn } from '../turns/turn.js';
import type { AwaitedChild } from './kinds/child-turn.js';
import { openWait } from './store.js';

export { MAX_OPEN_CHILDREN } from './kinds/child-turn.js';

/** After this time without an end of the child turn the call looks by itself. */
const LOOK_SECONDS = 86_400;

/** Has a call wait until the turn that it has begun has ended; null: until it can begin one. */
export function waitForChild(
  tx: Tx,
  turn: Turn,
  { step, index, toolUseId }: { step: number; index: number; toolUseId: string },
  childTurnId: string | null,
): Promise<void> {
  const ask: AwaitedChild = { child_turn_id: childTurnId };
  return openWait(tx, turn, step, { kind: 'child_turn', index, toolUseId, ask }, LOOK_SECONDS);
}

import type { Tx } from '../db/db.js';
import type { NewEvent } from '../events/schema.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';

interface Connected {
  events: NewEvent[];
  store: (tx: Tx) => Promise<void>;
  tookMs: number;
}

/** Records once per turn what its sources of tools have found. What the first attempt records stays. */
export async function recordConnected(
  deps: TurnDeps,
  turnId: string,
  { events, store, tookMs }: Connected,
): Promise<void> {
  await changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    if (turn.isConnected) return turn.stayStill();
    turn.connect(tookMs);
    turn.append(...events);
    await store(tx);
  });
}

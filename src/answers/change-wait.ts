import type { Sql } from '../db/sql.js';
import type { NewEvent } from '../events/schema.js';
import { newEvents } from '../events/store.js';
import { appendWrite } from '../turns/append.js';
import { changeTurn, running, type TurnDeps, type TurnTransaction, type TurnWrite } from '../turns/write.js';

interface WaitTransaction extends Pick<TurnTransaction, 'tx' | 'write'> {
  turn: Awaited<ReturnType<TurnTransaction['lock']>>;
}

/**
 * Changes what a running turn waits for, under the lock of its row: questions, answers, cancel requests and expiries exclude
 * each other.
 * @throws TurnEndedError
 */
export function changeWait<T>(
  deps: TurnDeps,
  turnId: string,
  work: (transaction: WaitTransaction) => Promise<T>,
): Promise<T> {
  return changeTurn(deps, turnId, async ({ tx, lock, write }) =>
    work({ tx, write, turn: await lock(running(turnId)) }),
  );
}

/** Appends events to a turn, and sets those of its clocks that start or stop with the change. */
export function waitWrite(turnId: string, events: NewEvent[], clocks: Sql | null): TurnWrite {
  return appendWrite(running(turnId), newEvents(events), clocks);
}

import type { Database, Tx } from '../db/db.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import { transaction } from '../db/transaction.js';
import { OPEN } from '../db/turn-states.js';
import type { Schedule } from './schedule.js';
import { lockSchedule } from './store.js';

/** A schedule that a transaction has locked, with its session and the open turn of that. */
export type LockedSchedule = NonNullable<Awaited<ReturnType<typeof lockSchedule>>> & {
  /** The open turn of an existing session; null without one. */
  open_turn_id: string | null;
};

/**
 * Runs `work` with the open turn of the schedule's session, the session and the schedule locked, in this order: the end of
 * a turn locks the turn before its session, too. `schedule` is null if it is deleted.
 */
export async function withLockedSchedule<T>(
  db: Database,
  target: Pick<Schedule, 'id' | 'session_id'>,
  work: (tx: Tx, schedule: LockedSchedule | null) => Promise<T>,
): Promise<T> {
  for (;;) {
    const done = await transaction(db, async (tx) => {
      const lockedTurn = await findOpenTurn(tx, target.session_id, 'lock');
      const schedule = await lockSchedule(tx, target);
      // Between the two locks another turn can have been opened; after them none can.
      const openTurn = await findOpenTurn(tx, target.session_id);
      if (openTurn !== lockedTurn) return null;
      return { value: await work(tx, schedule && { ...schedule, open_turn_id: openTurn }) };
    });
    if (done !== null) return done.value;
  }
}

async function findOpenTurn(tx: Tx, sessionId: string | null, lock?: 'lock'): Promise<string | null> {
  if (sessionId === null) return null;
  const [turn] = await runSql<{ id: string }>(
    tx,
    sql`SELECT id FROM turns WHERE id = (SELECT last_turn_id FROM sessions WHERE id = ${sessionId}) AND ${rawSql(OPEN)}
        ${rawSql(lock === undefined ? '' : 'FOR NO KEY UPDATE')}`,
  );
  return turn?.id ?? null;
}

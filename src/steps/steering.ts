import type { EntityManager } from 'typeorm';
import { runSql, sql } from '../db/sql.js';
import type { EventToStore } from '../events/store.js';
import { appendWrite } from '../turns/append.js';
import { changeTurn, open, type TurnDeps, type TurnWrite } from '../turns/write.js';

/** The messages that steer a turn are other ones than those that the request of its next model call has. */
export class SteeringChangedError extends Error {
  override readonly name = 'SteeringChangedError';
  override readonly message = 'the messages that steer the turn have changed';
}

/**
 * Gives the turn the messages that steer it, in the transaction that begins the model call of a step.
 * @param requested the ids of those in the request of the call
 * @throws SteeringChangedError if other ones wait
 */
export function beginWithSteering<Row>(
  deps: TurnDeps,
  turnId: string,
  step: number,
  requested: string[],
  begin: TurnWrite,
): Promise<{ row: Row }> {
  return changeTurn(deps, turnId, async ({ tx, lock, write }) => {
    await lock(open(turnId));
    const events = await takeSteering(tx, turnId, step, requested);
    if (events.length > 0) await write(appendWrite(open(turnId), events));
    return write<Row>(begin);
  });
}

async function takeSteering(
  tx: EntityManager,
  turnId: string,
  step: number,
  requested: string[],
): Promise<EventToStore[]> {
  const rows = await runSql<{ id: string; data: string }>(
    tx,
    sql`WITH taken AS (
          DELETE FROM waiting_messages w USING turns
          WHERE turns.id = ${turnId} AND w.session_id = turns.session_id AND w.steers = number
          RETURNING w.id, w.data::text AS data, arrival)
        SELECT id, data FROM taken ORDER BY arrival`,
  );
  if (rows.length !== requested.length || rows.some(({ id }, n) => id !== requested[n])) {
    throw new SteeringChangedError();
  }
  return rows.map(({ id, data }) => ({
    id,
    type: 'user.message',
    data: JSON.stringify({ ...(JSON.parse(data) as object), delivered_at_step: step }),
  }));
}

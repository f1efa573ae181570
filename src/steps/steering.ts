import type { EntityManager } from 'typeorm';
import { runSql, sql } from '../db/sql.js';
import type { EventToStore } from '../events/store.js';
import { insertEvents } from '../events/store.js';
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
    if (events.length > 0) await write(steeringWrite(turnId, events));
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

/** Appends the messages to the turn. */
function steeringWrite(turnId: string, events: EventToStore[]): TurnWrite {
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id FROM turns WHERE ${open(turnId)} FOR NO KEY UPDATE),
      now AS MATERIALIZED (SELECT id, clock_timestamp() AS at FROM turn),
      written AS (
        UPDATE turns SET position = turns.position + ${events.length}::integer, progress_at = now.at
        FROM now WHERE turns.id = now.id
        RETURNING turns.id, session_id, number, state, position, at),
      ${insertEvents(sql`written`, events)}
    SELECT session_id, state, position, at FROM written`;
  return { statement, events };
}

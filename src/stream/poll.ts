import type { Db } from '../db/transaction.js';

/** How far turns are stored: `attempt` and `last` are those of the newest delta after the last event, 0 without. */
export async function readPositions(
  db: Db,
  turnIds: string[],
  withDeltas: string[],
): Promise<{ id: string; position: number; attempt: number; last: number }[]> {
  return db.query(
    `SELECT id, turns.position, coalesce(latest.attempt, 0) AS attempt, coalesce(latest.last, 0) AS last
     FROM turns LEFT JOIN LATERAL (
       SELECT attempt, last FROM deltas
       WHERE turns.id = ANY($2) AND turn_id = turns.id AND deltas.position = turns.position
       ORDER BY attempt DESC, last DESC LIMIT 1) AS latest ON true
     WHERE id = ANY($1)`,
    [turnIds, withDeltas],
  );
}

/** The indexes of those sessions that have another last turn than the one given with them, or are deleted. */
export async function findBegunOrGone(
  db: Db,
  sessionIds: string[],
  lastTurnIds: readonly (string | null)[],
): Promise<number[]> {
  const rows = await db.query<{ index: number }[]>(
    `SELECT asked.n::integer - 1 AS index
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked(id, last_turn_id, n)
       LEFT JOIN sessions ON sessions.id = asked.id AND deleted_at IS NULL
     WHERE sessions.id IS NULL OR sessions.last_turn_id IS DISTINCT FROM asked.last_turn_id`,
    [sessionIds, lastTurnIds],
  );
  return rows.map(({ index }) => index);
}

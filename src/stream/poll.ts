import type { Db } from '../db/transaction.js';
import type { StreamPlace } from './position.js';

/**
 * The indexes of the places that are not the last one of their session: more is stored of the turn, another turn has begun, or the
 * session is deleted. `withDeltas`: for each place, whether deltas count too.
 */
export async function findBehind(db: Db, places: StreamPlace[], withDeltas: boolean[]): Promise<number[]> {
  const rows = await db.query<{ index: number }[]>(
    `SELECT place.n::integer - 1 AS index
     FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[], $5::integer[], $6::boolean[]) WITH ORDINALITY
         AS place(session_id, turn_id, position, attempt, delta, with_deltas, n)
       LEFT JOIN sessions ON sessions.id = place.session_id AND deleted_at IS NULL
       LEFT JOIN turns ON turns.id = place.turn_id
       LEFT JOIN LATERAL (
         SELECT attempt, last FROM deltas
         WHERE with_deltas AND deltas.turn_id = turns.id AND deltas.position = turns.position
         ORDER BY attempt DESC, last DESC LIMIT 1) AS latest ON true
     WHERE sessions.id IS NULL OR coalesce(last_turn_id, '') <> place.turn_id
       OR (turns.position, coalesce(latest.attempt, 0), coalesce(latest.last, 0))
         > (place.position, place.attempt, place.delta)`,
    [
      places.map(({ sessionId }) => sessionId),
      places.map(({ turnId }) => turnId),
      ...[1, 2, 3].map((part) => places.map(({ at }) => at[part])),
      withDeltas,
    ],
  );
  return rows.map(({ index }) => index);
}

import type { Db } from '../db/db.js';
import { readPage } from '../db/read-page.js';
import { runSql, sql } from '../db/sql.js';
import type { PageRows } from '../platform/page.js';
import type { EventRow } from './store.js';

/** Which events of a session's history are read. What is absent selects every event. */
export interface HistoryFilter {
  turnId?: string;
  /** Types of stored events, each once. */
  types?: string[];
  isNewestFirst: boolean;
}

/** A place in the history, next to which a page begins. */
type Place = readonly [turnNumber: number, position: number];

const FIRST: Place = [0, 0];
const LAST: Place = [2 ** 31 - 1, 2 ** 31 - 1];

/**
 * A page of a session's history behind a place (null: from the start): the stored events of all turns. Each type is read
 * in order by its index, so that a rare one is found in a long history.
 */
export function readHistory(
  db: Db,
  sessionId: string,
  after: Place | null,
  limit: number,
  { turnId, types, isNewestFirst }: HistoryFilter,
): Promise<PageRows<EventRow & { turn_number: number }>> {
  const [beyond, order] = isNewestFirst
    ? (['<', 'turn_number DESC, position DESC'] as const)
    : (['>', 'turn_number, position'] as const);
  const values: unknown[] = [sessionId, ...(after ?? (isNewestFirst ? LAST : FIRST)), limit + 1];
  const ofTurn =
    turnId === undefined
      ? ''
      : `AND turn_number = (SELECT number FROM turns WHERE id = $${values.push(turnId)} AND session_id = $1)`;
  const events = (ofType: string): string => `
    SELECT id, turn_id, turn_number, position, type, created_at, data, page_bytes
    FROM events WHERE session_id = $1 ${ofType} AND (turn_number, position) ${beyond} ($2, $3) ${ofTurn}
    ORDER BY ${order} LIMIT $4`;
  const query =
    types === undefined
      ? events('')
      : `SELECT found.* FROM unnest($${values.push(types)}::text[]) AS wanted (type)
           CROSS JOIN LATERAL (${events('AND type = wanted.type')}) AS found
         ORDER BY ${order} LIMIT $4`;
  return readPage(db, {
    query,
    values,
    order,
    limit,
    large: {
      bytes: 'page_bytes',
      columns: 'id, turn_id, turn_number, position, type, created_at, data::text AS data',
    },
  });
}

/** Finds an event; `event` is null if the session has no such event, and the result if the project has no such session. */
export async function findEvent(
  db: Db,
  projectId: string,
  sessionId: string,
  eventId: string,
): Promise<{ event: EventRow | null } | null> {
  const [row] = await runSql<EventRow | { id: null }>(
    db,
    sql`SELECT e.id, e.turn_id, e.position, e.type, e.created_at, e.data::text AS data
        FROM sessions s LEFT JOIN events e ON e.id = ${eventId} AND e.session_id = s.id
        WHERE s.id = ${sessionId} AND s.project_id = ${projectId} AND s.deleted_at IS NULL`,
  );
  return row === undefined ? null : { event: row.id === null ? null : row };
}

import type { Database, Tx } from '../db/db.js';
import { deleteRecords } from '../db/answers-of-resources.js';
import { ROWS_OF_TURN } from '../db/rows-of-turn.js';
import { transaction } from '../db/transaction.js';
import { OPEN } from '../db/turn-states.js';
import { WEBHOOK_EVENT_TYPES } from '../webhooks/event-types.js';
import { DELIVERY_ID } from '../webhooks/record-deliveries.js';
import { isChildRow } from './child-session.js';
import { notifyDeletedSessions } from './deleted-sessions.js';

/** A deleted session is kept for this long, so that work under way at its deletion can end. */
const KEPT = "interval '1 hour'";

/**
 * Bounds the work of one statement: a turn of a hundred steps has some 700 rows. A single turn with more is removed
 * whole.
 */
const MAX_ROWS = 20_000;

/**
 * Removes at most `limit` turns (with their rows, at most about MAX_ROWS in all) and `limit` rows of sessions deleted at
 * least an hour ago, with the recorded answers and the metadata of webhook deliveries. Files stay and keep their
 * `session_id`. Objects of the turns and of the workspace become orphans, which storage maintenance removes.
 */
export async function purgeSessions(db: Database, limit: number): Promise<{ turns: number; sessions: number }> {
  return transaction(db, async (tx) => {
    const due = `deleted_at < statement_timestamp() - ${KEPT}`;
    const { turns, deliveries, sessions } = await purge(tx, due, [], limit);
    await tx.query(`UPDATE webhook_deliveries SET metadata = '{}' WHERE id = ANY($1) AND metadata::text <> '{}'`, [
      deliveries,
    ]);
    return { turns: turns.length, sessions: sessions.length };
  });
}

/**
 * Removes at once what is left of a deleted session, in transactions of at most `limit` turns: with the deliveries of its events, the
 * fragments of its messages, and the recorded answers about it. No turn of it may be open.
 * @param atEnd runs in the transaction that removes the session's row
 */
export async function purgeSession(
  db: Database,
  id: string,
  limit: number,
  atEnd: (tx: Tx, session: { created_at: string }) => Promise<void>,
): Promise<void> {
  for (let isGone = false; !isGone;) {
    isGone = await transaction(db, async (tx) => {
      const { turns, deliveries, sessions } = await purge(
        tx,
        'sessions.id = $1 AND deleted_at IS NOT NULL',
        [id],
        limit,
      );
      await tx.query('DELETE FROM webhook_deliveries WHERE id = ANY($1)', [deliveries]);
      await tx.query('DELETE FROM deltas WHERE turn_id = ANY($1)', [turns]);
      const [session] = sessions;
      if (session === undefined) return turns.length === 0;
      await tx.query('DELETE FROM token_streams WHERE session_id = $1', [id]);
      await atEnd(tx, session);
      return true;
    });
  }
}

interface Purged {
  /** Ids of the turns. */
  turns: string[];
  /** Ids of the deliveries of their events. */
  deliveries: string[];
  sessions: { id: string; created_at: string }[];
}

/** @param due SQL that is true for the sessions, with `values` as its parameters */
async function purge(tx: Tx, due: string, values: unknown[], limit: number): Promise<Purged> {
  const next = (n: number): string => `$${values.length + n}`;
  const [{ turns, deliveries }] = await tx.query<[Omit<Purged, 'sessions'>]>(
    // Each call of a tool has two events, each step a model call.
    `WITH due AS (
       SELECT turns.id, session_id, number, 1 + 2 * position + 2 * model_calls AS rows
       FROM sessions JOIN turns ON turns.session_id = sessions.id
       WHERE ${due} AND NOT (${OPEN}) LIMIT ${next(1)}),
     purged AS (
       SELECT id, session_id, number FROM (SELECT due.*, sum(rows) OVER (ORDER BY id) - rows AS rows_before FROM due) AS due
       WHERE rows_before < ${MAX_ROWS}),
     ${ROWS_OF_TURN.map(({ table }) => `in_${table} AS (DELETE FROM ${table} USING purged WHERE turn_id = purged.id),`).join('\n')}
     in_events AS (
       DELETE FROM events USING purged WHERE events.session_id = purged.session_id AND turn_number = purged.number
       RETURNING events.id, events.type, events.session_id),
     gone AS (DELETE FROM turns USING purged WHERE turns.id = purged.id RETURNING turns.id)
     SELECT ARRAY(SELECT id FROM gone) AS turns, ARRAY(
       SELECT ${DELIVERY_ID} FROM in_events e JOIN sessions ON sessions.id = e.session_id
         JOIN webhooks w ON w.project_id = sessions.project_id WHERE e.type = ANY(${next(2)})) AS deliveries`,
    [...values, limit, WEBHOOK_EVENT_TYPES],
  );
  const sessions = await tx.query<Purged['sessions']>(
    `SELECT id, created_at FROM sessions WHERE ${due}
       AND NOT EXISTS (SELECT FROM turns WHERE turns.session_id = sessions.id) LIMIT ${next(1)}`,
    [...values, limit],
  );
  const ids = sessions.map(({ id }) => id);
  // A trigger takes the bytes of a message from those of its session's project, which the session names.
  for (const table of ['compactions', 'session_states', 'waiting_messages', 'session_overrides']) {
    await tx.query(`DELETE FROM ${table} WHERE session_id = ANY($1)`, [ids]);
  }
  await deleteRecords(tx, ids);
  await tx.query('DELETE FROM configurations WHERE id = ANY($1)', [ids]);
  await tx.query('DELETE FROM sessions WHERE id = ANY($1)', [ids]);
  return { turns, deliveries, sessions };
}

/**
 * Soft-deletes at most `limit` sessions, with their child sessions, without activity (a turn or a metadata change) for `days`. Sessions with an
 * open turn stay, and so do those of a schedule that has not ended, and those whose latest turn this statement cannot see yet.
 */
export async function expireSessions(db: Database, days: number, limit: number): Promise<number> {
  const [row] = await db.query<[{ count: number; had_workspace: string[] }]>(
    `WITH old AS (
       SELECT id FROM sessions
       WHERE deleted_at IS NULL AND NOT (${isChildRow('sessions')})
         AND metadata_updated_at < statement_timestamp() - $1 * interval '1 day'
         AND (last_turn_id IS NULL OR EXISTS (
           SELECT FROM turns WHERE turns.id = last_turn_id AND NOT (${OPEN})
             AND transition_at < statement_timestamp() - $1 * interval '1 day'))
         AND NOT EXISTS (SELECT FROM schedules s WHERE s.session_id = sessions.id AND s.deleted_at IS NULL AND s.state <> 'ended')
       LIMIT $2 FOR UPDATE SKIP LOCKED),
     gone AS (
       SELECT id FROM old
       UNION ALL SELECT child.id FROM old JOIN sessions child ON child.parent_session_id = old.id AND child.deleted_at IS NULL),
     answers AS (UPDATE idempotency_records SET response = NULL FROM gone WHERE resource_id = gone.id),
     workspace AS (DELETE FROM workspaces USING gone WHERE workspaces.session_id = gone.id RETURNING workspaces.session_id),
     deleted AS (UPDATE sessions SET deleted_at = clock_timestamp() FROM gone WHERE sessions.id = gone.id)
     SELECT (SELECT count(*)::integer FROM old) AS count, ARRAY(SELECT session_id FROM workspace) AS had_workspace`,
    [days, limit],
  );
  await notifyDeletedSessions(db, row.had_workspace);
  return row.count;
}

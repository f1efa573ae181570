import type { Db, Tx } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import { write } from '../db/transaction.js';
import { ServiceError } from '../platform/errors.js';
import type { Budget } from './budget.js';
import { sessionGone } from './gone.js';

/**
 * A session with the copies that its tokens make, and copies of these (decisions.md "Copies by session tokens"): one budget, and the
 * limits of one session's tokens. Lock order: turn, session, family.
 */

/** Copies of one session that exist at a time. */
export const MAX_COPIES = 20;

/** SQL for the id of the family of a session `session`, an SQL expression for its id; of one without copies, its own id. */
export function familyOf(session: string): string {
  return `coalesce((SELECT m.family_id FROM family_sessions m WHERE m.session_id = ${session}), ${session})`;
}

interface Family {
  /** The first session. */
  id: string;
  copies: number;
}

/** Null if the session has no copies and is none. */
async function findFamily(tx: Tx, sessionId: string): Promise<Family | null> {
  const [family] = await runSql<Family>(
    tx,
    sql`SELECT m.family_id AS id, (
          SELECT count(*)::integer FROM family_sessions c
          WHERE c.family_id = m.family_id AND c.session_id <> c.family_id AND NOT c.is_deleted) AS copies
        FROM family_sessions m WHERE m.session_id = ${sessionId}`,
  );
  return family ?? null;
}

/** Refuses a copy before it is made; `joinFamily` decides. @throws ServiceError `fork_limit_reached` */
export async function requireRoomForCopy(tx: Tx, sessionId: string): Promise<void> {
  const family = await findFamily(tx, sessionId);
  if (family !== null && family.copies >= MAX_COPIES) throw limitReached();
}

/** True for a session that is a copy, by itself or by a session that it was copied from. */
export async function isCopy(tx: Tx, sessionId: string): Promise<boolean> {
  const family = await findFamily(tx, sessionId);
  return family !== null && family.id !== sessionId;
}

/** True if a session is a copy in the family of another one. */
export async function isCopyOf(db: Db, copy: string, sessionId: string): Promise<boolean> {
  const rows = await runSql(
    db,
    sql`SELECT FROM family_sessions c JOIN family_sessions s USING (family_id)
        WHERE c.session_id = ${copy} AND c.session_id <> c.family_id AND s.session_id = ${sessionId}`,
  );
  return rows.length > 0;
}

/**
 * Makes a new fork a member of the family of the session that it was copied from, with its budget, if it belongs there: a session token
 * has made it, or that session is a copy itself. The tokens of the fork then see the files of the copied events that the tokens of
 * that session see.
 * @throws ServiceError `fork_limit_reached`, `session_not_found`
 */
export async function joinFamily(
  tx: Tx,
  { from, to, projectId, byToken }: { from: string; to: string; projectId: string; byToken: boolean },
): Promise<void> {
  const known = await findFamily(tx, from);
  if (!byToken && (known === null || known.id === from)) return;
  const id = known?.id ?? from;
  if (known === null) await foundFamily(tx, from, projectId);
  const locked = await runSql(tx, sql`SELECT FROM session_families WHERE id = ${id} FOR UPDATE`);
  if (locked.length === 0) sessionGone(from);
  await requireRoomForCopy(tx, from);
  await runSql(tx, sql`INSERT INTO family_sessions (session_id, family_id) VALUES (${to}, ${id})`);
  // A PATCH of the budget may have come after the session was read.
  await runSql(
    tx,
    sql`UPDATE sessions copy SET budget = source.budget FROM sessions source WHERE copy.id = ${to} AND source.id = ${from}`,
  );
  await runSql(
    tx,
    sql`INSERT INTO token_files (session_id, file_id)
        SELECT DISTINCT ${to}, f.id
        FROM events e CROSS JOIN LATERAL (
            SELECT e.data->'file'->>'id' AS id WHERE e.type = 'agent.file'
            UNION ALL
            SELECT file->>'id' FROM json_array_elements(CASE WHEN e.type = 'user.message' THEN e.data->'files' END) AS file) AS named
          JOIN files f ON f.id = named.id AND f.project_id = ${projectId} AND f.deleted_at IS NULL
        WHERE e.session_id = ${to}
          AND (e.type = 'agent.file' OR (e.type = 'user.message' AND json_array_length(e.data->'files') > 0))
          AND (${from} IN (f.session_id, f.token_session_id) OR EXISTS (
            SELECT FROM token_files t WHERE t.session_id = ${from} AND t.file_id = f.id))`,
  );
}

/** The lock of the session keeps its deletion, which leaves what it has spent to its family, from coming between. */
async function foundFamily(tx: Tx, sessionId: string, projectId: string): Promise<void> {
  const locked = await runSql(
    tx,
    sql`SELECT FROM sessions WHERE id = ${sessionId} AND deleted_at IS NULL FOR NO KEY UPDATE`,
  );
  if (locked.length === 0) sessionGone(sessionId);
  await runSql(
    tx,
    sql`INSERT INTO session_families (id, project_id) VALUES (${sessionId}, ${projectId}) ON CONFLICT DO NOTHING`,
  );
  await runSql(
    tx,
    sql`INSERT INTO family_sessions (session_id, family_id) VALUES (${sessionId}, ${sessionId}) ON CONFLICT DO NOTHING`,
  );
}

/** Gives the copies of a locked session its new budget. Their turns that wait for a larger one go on by a round (src/waits/raised-budgets). */
export async function shareBudget(tx: Tx, sessionId: string, budget: Budget | null): Promise<void> {
  const locked = await runSql(tx, sql`SELECT FROM session_families WHERE id = ${sessionId} FOR UPDATE`);
  if (locked.length === 0) return;
  await runSql(
    tx,
    sql`UPDATE sessions SET budget = ${budget === null ? null : JSON.stringify(budget)}::json
        WHERE id IN (
          SELECT session_id FROM family_sessions WHERE family_id = ${sessionId} AND session_id <> ${sessionId} AND NOT is_deleted)`,
  );
}

const LOCK_FAMILY = `
  SELECT FROM session_families WHERE id = (
    SELECT family_id FROM family_sessions WHERE session_id = (SELECT session_id FROM turns WHERE id = $1)) FOR UPDATE`;
/** A statement of its own: it must see what others committed while the lock was awaited. */
const FAMILY_SPENT = `
  SELECT family_spent(m.family_id, $1, true)::text AS spent FROM family_sessions m
  WHERE m.session_id = (SELECT session_id FROM turns WHERE id = $1)`;

/**
 * Locks the family of a turn's session until the transaction ends, so that one model call of it begins at a time; of a child turn that of
 * its parent. Returns what the family has spent, and reserved outside of this turn and its children, as a decimal number; null for a
 * session without copies that is none.
 */
export async function lockFamilySpent(
  tx: Tx,
  { id, parentTurnId }: { id: string; parentTurnId: string | null },
): Promise<string | null> {
  const owner = parentTurnId ?? id;
  write(tx, LOCK_FAMILY, [owner]);
  const [row] = await tx.query<{ spent: string }[]>(FAMILY_SPENT, [owner]);
  return row?.spent ?? null;
}

function limitReached(): ServiceError {
  return new ServiceError(
    'fork_limit_reached',
    `A session and the copies that its tokens make have at most ${MAX_COPIES} copies. Delete some, or let your back end fork the first session with its key.`,
    { max_forks: MAX_COPIES },
  );
}

import type { Db } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';

/** The channel on which workers receive the ids of deleted sessions that had a workspace, one or several with commas. */
export const DELETED_SESSIONS_CHANNEL = 'deleted_sessions';
const IDS_PER_PAYLOAD = 200;

/** Has every worker remove what it has cached of the sessions. Lost: it is removed when no command has used it for a day. */
export async function notifyDeletedSessions(db: Db, ids: readonly string[]): Promise<void> {
  const payloads: string[] = [];
  for (let at = 0; at < ids.length; at += IDS_PER_PAYLOAD) payloads.push(ids.slice(at, at + IDS_PER_PAYLOAD).join(','));
  if (payloads.length === 0) return;
  await runSql(
    db,
    sql`SELECT pg_notify(${DELETED_SESSIONS_CHANNEL}, ids) FROM unnest(${payloads}::text[]) AS ids`,
  ).catch(() => undefined);
}

export function sessionsOf(payload: string): string[] {
  return payload.split(',');
}

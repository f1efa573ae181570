import type { Db, Tx } from '../db/db.js';
import { isoText, runSql, sql } from '../db/sql.js';
import type { AskedTool } from '../mcp/asked-tool.js';
import { validationError } from '../platform/errors.js';

/** Tools of a session that may be remembered. */
export const MAX_REMEMBERED = 100;

/** SQL for what a session `r` has remembered, as a JSON array, oldest first. */
export const REMEMBERED_APPROVALS = `(
  SELECT coalesce(json_agg(json_build_object('name', a.name, 'tool_use_id', a.tool_use_id, 'actor', a.actor,
    'created_at', ${isoText('a.created_at')}) ORDER BY a.number), '[]')
  FROM remembered_approvals a WHERE a.session_id = r.id)`;

type Known = Pick<AskedTool, 'server_id' | 'tool_name' | 'digest'>;

/** A tool in one version. */
export function keyOfTool({ server_id, tool_name, digest }: Known): string {
  return JSON.stringify([server_id ?? '', tool_name, digest]);
}

/** What the session of a turn remembers, by `keyOfTool`. */
export async function findRemembered(db: Db, turnId: string): Promise<ReadonlySet<string>> {
  const rows = await runSql<Known>(
    db,
    sql`SELECT server_id, tool_name, digest FROM remembered_approvals
        WHERE session_id = (SELECT session_id FROM turns WHERE id = ${turnId})`,
  );
  return new Set(rows.map(keyOfTool));
}

/** The open turn, which is locked, and the time of its change. */
interface OpenTurn {
  sessionId: string;
  at: string;
}

export interface NewRemembered {
  tool: Known;
  name: string;
  toolUseId: string;
  actor: string | null;
  /** Of the answer in its request, for errors. */
  path: string;
}

/**
 * Remembers an approval of a tool, in place of an earlier one of the same tool. The lock of the open turn lets one request at a time
 * do so.
 * @throws ServiceError `validation_error` if the session remembers as many tools as it may
 */
export async function rememberApproval(
  tx: Tx,
  turn: OpenTurn,
  { tool, name, toolUseId, actor, path }: NewRemembered,
): Promise<void> {
  const { server_id, tool_name, digest } = tool;
  const server = server_id ?? '';
  await runSql(
    tx,
    sql`DELETE FROM remembered_approvals
        WHERE session_id = ${turn.sessionId} AND server_id = ${server} AND tool_name = ${tool_name}`,
  );
  const added = await runSql(
    tx,
    sql`INSERT INTO remembered_approvals (session_id, server_id, tool_name, digest, name, tool_use_id, actor, created_at)
        SELECT ${turn.sessionId}, ${server}, ${tool_name}, ${digest}, ${name}, ${toolUseId}, ${actor}::text, ${turn.at}::timestamptz
        WHERE (SELECT count(*) FROM remembered_approvals WHERE session_id = ${turn.sessionId}) < ${MAX_REMEMBERED}::integer
        RETURNING session_id`,
  );
  if (added.length > 0) return;
  throw validationError(
    `${path}/remember`,
    `is not possible: the session remembers ${MAX_REMEMBERED} approvals, its limit. Take some back with forget_approvals`,
  );
}

interface Remembering {
  id: string;
  /** JSON text, as the session shows it. */
  remembered_approvals: string;
}

/** Whether a session remembers an approval of one of these calls. */
export function remembersAny({ remembered_approvals }: Remembering, toolUseIds: readonly string[]): boolean {
  return (JSON.parse(remembered_approvals) as { tool_use_id: string }[]).some(({ tool_use_id: id }) =>
    toolUseIds.includes(id),
  );
}

/** Takes back what was remembered with these calls; others change nothing. Returns what is left. */
export async function forgetApprovals(tx: Tx, session: Remembering, toolUseIds: readonly string[]): Promise<string> {
  if (toolUseIds.length === 0) return session.remembered_approvals;
  await runSql(
    tx,
    sql`DELETE FROM remembered_approvals WHERE session_id = ${session.id} AND tool_use_id = ANY(${toolUseIds}::text[])`,
  );
  const [left] = await tx.query<[{ approvals: string }]>(
    `SELECT ${REMEMBERED_APPROVALS}::text AS approvals FROM sessions r WHERE id = $1`,
    [session.id],
  );
  return left.approvals;
}

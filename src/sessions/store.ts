import type { EntityManager } from 'typeorm';
import type { SessionRow } from '../db/entities/sessions.js';
import { readPage } from '../db/read-page.js';
import type { Db } from '../db/transaction.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import { OPEN_ACTIONS, WAITS, type RequiredAction } from './required-actions.js';

/** State of a turn as its row has it (src/turns/states). */
type TurnState = 'queued' | 'running' | 'completed' | 'cancelled' | 'failed';

/** A session with what its latest turn says of it. */
export interface Session extends Omit<SessionRow, 'metadata_updated_at' | 'deleted_at' | 'model_tools'> {
  /** Null before the first turn. */
  turn_state: TurnState | null;
  /** The calls of its running turn that wait for an answer (contract.md §6), in their order. */
  required_actions: RequiredAction[];
  /** The later of its last metadata change and its last turn's last transition (contract.md §2). */
  updated_at: string;
}

const SELECT = `
  SELECT s.id, s.project_id, s.model_id, s.thinking_enabled, s.instruction, s.mcp_servers, s.metadata, s.tools,
         s.turn_count, s.last_turn_id, s.created_at, t.state AS turn_state, ${OPEN_ACTIONS} AS required_actions,
         greatest(s.metadata_updated_at, t.transition_at) AS updated_at
  FROM sessions s LEFT JOIN turns t ON t.id = s.last_turn_id`;

/** The session, unless it is deleted or of another project. */
export async function findSession(db: Db, projectId: string, id: string): Promise<Session | null> {
  const [session] = await db.query<Session[]>(
    `${SELECT} WHERE s.id = $1 AND s.project_id = $2 AND s.deleted_at IS NULL`,
    [id, projectId],
  );
  return session ?? null;
}

/**
 * Locks the session's row until the transaction ends and reads it, so that its latest turn stays the latest. Lock order
 * everywhere: session, turn, the admission of the project's turns.
 */
export async function lockSession(tx: EntityManager, projectId: string, id: string): Promise<Session | null> {
  // Two statements: after a wait, one with the join would show the new session beside the turn of before the wait.
  const [locked] = await tx.query<unknown[]>(
    'SELECT 1 FROM sessions WHERE id = $1 AND project_id = $2 AND deleted_at IS NULL FOR UPDATE',
    [id, projectId],
  );
  return locked === undefined ? null : findSession(tx, projectId, id);
}

/**
 * A page of the sessions of the project that are not deleted, newest first.
 * `requiresAction`: only those that wait for an answer, or only those that do not.
 */
export async function listSessions(
  db: Db,
  projectId: string,
  { limit, after }: PageRequest,
  requiresAction: boolean | null,
): Promise<PageRows<Session>> {
  const filter = requiresAction === null ? '' : `AND ${requiresAction ? '' : 'NOT'} ${WAITS}`;
  return readPage<Session>(db, {
    query: `${SELECT} WHERE s.project_id = $1 AND s.deleted_at IS NULL ${filter}
       ${after === null ? '' : 'AND (s.created_at, s.id) < ($3::timestamptz, $4)'}
     ORDER BY s.created_at DESC, s.id DESC LIMIT $2`,
    values: [projectId, limit + 1, ...(after ?? [])],
    order: 'created_at DESC, id DESC',
    limit,
  });
}

export type NewSession = Pick<
  SessionRow,
  | 'id'
  | 'project_id'
  | 'model_id'
  | 'thinking_enabled'
  | 'instruction'
  | 'mcp_servers'
  | 'metadata'
  | 'tools'
  | 'model_tools'
>;

export async function insertSession(tx: EntityManager, session: NewSession): Promise<Session> {
  const [row] = await tx.query<{ created_at: string; updated_at: string }[]>(
    `INSERT INTO sessions (id, project_id, model_id, thinking_enabled, instruction, mcp_servers, metadata, tools,
                           model_tools, created_at, metadata_updated_at)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, now, now FROM clock_timestamp() AS now
     RETURNING created_at, metadata_updated_at AS updated_at`,
    [
      session.id,
      session.project_id,
      session.model_id,
      session.thinking_enabled,
      session.instruction,
      session.mcp_servers,
      JSON.stringify(session.metadata),
      JSON.stringify(session.tools),
      JSON.stringify(session.model_tools),
    ],
  );
  const { model_tools: _, ...shown } = session;
  return { ...shown, turn_count: 0, last_turn_id: null, turn_state: null, required_actions: [], ...row! };
}

/** Replaces the metadata of a locked session and returns it as it is now. */
export async function updateMetadata(
  tx: EntityManager,
  session: Session,
  metadata: Record<string, string>,
): Promise<Session> {
  const [rows] = await tx.query<[{ updated_at: string }[], number]>(
    'UPDATE sessions SET metadata = $2, metadata_updated_at = clock_timestamp() WHERE id = $1 RETURNING metadata_updated_at AS updated_at',
    [session.id, JSON.stringify(metadata)],
  );
  return { ...session, metadata, updated_at: rows[0]!.updated_at };
}

/** Hides a locked session, and with it its events, for good (spec.md "Delete session"). */
export async function softDeleteSession(tx: EntityManager, id: string): Promise<void> {
  await tx.query('UPDATE sessions SET deleted_at = clock_timestamp() WHERE id = $1', [id]);
}

/** Which of the ids name no MCP server of the project, in their order. */
export async function missingMcpServers(db: Db, projectId: string, ids: string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await db.query<{ id: string }[]>(
    'SELECT id FROM mcp_servers WHERE project_id = $1 AND id = ANY($2) AND deleted_at IS NULL',
    [projectId, ids],
  );
  const found = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => !found.has(id));
}

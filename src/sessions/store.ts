import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import { McpServerEntity } from '../db/entities/mcp-servers.js';
import { SessionEntity, type SessionRow } from '../db/entities/sessions.js';
import { findResources, listResources, resourcesOf, selectRows, softDelete } from '../db/resources.js';
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

/** The sessions of a project with what their latest turns say of them. */
function sessionsOf(db: Db, projectId: string): SelectQueryBuilder<SessionRow> {
  const query = resourcesOf(db, SessionEntity, projectId).leftJoin('turns', 't', 't.id = r.last_turn_id');
  return selectRows(query, {
    turn_state: 't.state',
    required_actions: OPEN_ACTIONS,
    updated_at: 'greatest(r.metadata_updated_at, t.transition_at)',
  });
}

/** The statement of `findSession`. Each request of a session runs it, and a builder takes 0.2 ms to make it. */
let statement: string | undefined;

/** The session, unless it is deleted or of another project. */
export async function findSession(db: Db, projectId: string, id: string): Promise<Session | null> {
  statement ??= sessionsOf(db, projectId).andWhere('r.id = :id', { id }).getQueryAndParameters()[0];
  const [session] = await db.query<Session[]>(statement, [projectId, id]);
  return session ?? null;
}

/**
 * Locks the session's row until the transaction ends and reads it, so that its latest turn stays the latest. Lock order
 * everywhere: session, turn, the admission of the project's turns.
 */
export async function lockSession(tx: EntityManager, projectId: string, id: string): Promise<Session | null> {
  // Two statements: after a wait, one with the join would show the new session beside the turn of before the wait.
  const row = resourcesOf(tx, SessionEntity, projectId).andWhere('r.id = :id', { id }).select('r.id');
  const locked = await row.setLock('pessimistic_write').getRawOne<object>();
  return locked === undefined ? null : findSession(tx, projectId, id);
}

/**
 * A page of the sessions of the project that are not deleted, newest first.
 * `requiresAction`: only those that wait for an answer, or only those that do not.
 */
export function listSessions(
  db: Db,
  projectId: string,
  page: PageRequest,
  requiresAction: boolean | null,
): Promise<PageRows<Session>> {
  const query = sessionsOf(db, projectId);
  if (requiresAction !== null) query.andWhere(requiresAction ? WAITS : `NOT ${WAITS}`);
  return listResources(db, query, page);
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
  const now = (): string => 'statement_timestamp()';
  const result = await tx
    .createQueryBuilder()
    .insert()
    .into(SessionEntity)
    .values({ ...session, created_at: now, metadata_updated_at: now } as object)
    .returning('created_at, metadata_updated_at AS updated_at')
    .execute();
  const { model_tools: _, ...shown } = session;
  const times = (result.raw as [Pick<Session, 'created_at' | 'updated_at'>])[0];
  return { ...shown, turn_count: 0, last_turn_id: null, turn_state: null, required_actions: [], ...times };
}

/** Replaces the metadata of a locked session and returns it as it is now. */
export async function updateMetadata(
  tx: EntityManager,
  session: Session,
  metadata: Record<string, string>,
): Promise<Session> {
  const result = await tx
    .createQueryBuilder()
    .update(SessionEntity)
    .set({ metadata, metadata_updated_at: () => 'clock_timestamp()' })
    .where('id = :id', { id: session.id })
    .returning('metadata_updated_at AS updated_at')
    .execute();
  return { ...session, metadata, ...(result.raw as [Pick<Session, 'updated_at'>])[0] };
}

/** Hides a locked session, and with it its events, for good (spec.md "Delete session"). */
export async function softDeleteSession(tx: EntityManager, id: string): Promise<void> {
  await softDelete(tx, SessionEntity, id);
}

/** Which of the ids name no MCP server of the project, in their order. */
export async function missingMcpServers(db: Db, projectId: string, ids: string[]): Promise<string[]> {
  const found = new Set((await findResources(db, McpServerEntity, projectId, ids)).map(({ id }) => id));
  return ids.filter((id) => !found.has(id));
}

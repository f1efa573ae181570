import type { Db, SelectQuery, Tx } from '../db/db.js';
import { SessionEntity, type Overrides, type SessionRow } from '../db/entities/sessions.js';
import { emptyAnswers } from '../db/answers-of-resources.js';
import { resourcesOf, selectRows, softDelete } from '../db/resources.js';
import { moneyJson } from '../db/money.js';
import { isoText, rawSql, runSql, sql } from '../db/sql.js';
import { write } from '../db/transaction.js';
import type { TurnState } from '../db/turn-states.js';
import type { Money } from '../events/fields.js';
import type { StoredBytes } from '../files/storage-limit.js';
import {
  insertOverrides,
  referenceColumns,
  replaceAgent,
  type AgentOfSession,
  type NewAgentOfSession,
} from './agent-of-session.js';
import {
  AGENT_VERSION,
  configurationOfSession,
  FALLBACK_MODEL_IDS,
  INSTRUCTION,
  MODEL_ID,
  THINKING_ENABLED,
} from './configured.js';
import { isChildRow } from './child-session.js';
import { familyOf, shareBudget } from './families.js';
import { forgetApprovals, REMEMBERED_APPROVALS } from './remembered-approvals.js';
import { isWaiting, OPEN_ACTIONS, WAITING_SINCE } from './required-actions.js';
import { IS_ERASED, lockForNewSession } from './erasing.js';
import { SESSION_ROW_BYTES } from './row-bytes.js';
import type { Metadata } from './metadata.js';
import { hasWorkspace } from './tools.js';

interface SessionWorkspace {
  version: number;
  size_bytes: number;
  file_count: number;
  updated_at: string | null;
  /** In a fork: how it began (src/turns/fork). */
  began: 'exact' | 'later' | null;
}

/** The agent of a session, and the version of its next turn. */
export interface SessionAgent {
  id: string;
  version: number;
  /** Each turn begins with the version that is live then. */
  follows: boolean;
  overrides: Overrides;
}

export interface Session extends Omit<
  SessionRow,
  | 'metadata_updated_at'
  | 'deleted_at'
  | 'tools'
  | 'model_tools'
  | 'currency'
  | 'configuration_id'
  | 'agent_id'
  | 'agent_version'
  | 'overrides_number'
> {
  /** Null in a session of its own configuration. */
  agent: SessionAgent | null;
  /** JSON text, as everything that only answers show: parsed, 2 MiB of it can take 40 MiB. */
  tools: string;
  /** Null before the first turn. */
  turn_state: TurnState | null;
  /** How many messages wait (decisions.md "Messages while a turn runs"). */
  waiting: number;
  /** The newest version of its workspace; null in a session without one. */
  workspace: SessionWorkspace | null;
  /** What its model calls cost; null if one of them had no price. */
  cost: Money | null;
  /** Its latest turn can be continued. */
  continuable: boolean;
  /** JSON text of the calls of the running turn that wait for an answer (decisions.md "Person in the loop"), in order. */
  required_actions: string;
  /** JSON text of the approvals that it remembers, oldest first. */
  remembered_approvals: string;
  /** Since when it waits for an answer; null while it does not. */
  waiting_since: string | null;
  /** The later of the last metadata change and the last turn's last transition (decisions.md "Resources"). */
  updated_at: string;
}

/** Whether a turn `t` can be continued: it did not finish its work, and more of the same may help. */
export const CONTINUABLE = `CASE t.state WHEN 'cancelled' THEN true
  WHEN 'failed' THEN t.end_reason <> 'context_too_long'
  WHEN 'completed' THEN t.end_reason = 'budget_reached' END`;
/** A model call under way counts when it ends, when another one begins, or when the turn waits. */
const countedCalls = (turn: string): string => `(
  SELECT coalesce(sum(a.cost), 0) FROM model_calls a
  WHERE a.turn_id = ${turn}.id AND a.currency = ${turn}.currency AND (a.ended_at IS NOT NULL
    OR EXISTS (SELECT FROM model_calls b WHERE b.turn_id = a.turn_id AND (b.position, b.call) > (a.position, a.call))
    OR ${isWaiting(`${turn}.id`)}))`;
/** What a turn cost that has ended, or by now. */
const costOf = (turn: string): string =>
  `CASE WHEN ${turn}.ended_at IS NOT NULL THEN ${turn}.cost ELSE ${countedCalls(turn)} END`;
/** The turns that an open turn `t` has begun by calls. */
const CHILDREN = `FROM delegations d JOIN turns child ON child.id = d.child_turn_id WHERE d.turn_id = t.id`;
const DELEGATED_COST = `CASE WHEN t.ended_at IS NOT NULL OR NOT t.has_children THEN t.delegated_cost
  ELSE (SELECT coalesce(sum(${costOf('child')}), 0) ${CHILDREN} AND child.currency = t.currency) END`;
const IS_DELEGATED_UNPRICED = `CASE WHEN t.ended_at IS NOT NULL OR NOT t.has_children THEN t.is_delegated_unpriced
  ELSE (SELECT coalesce(bool_or(child.is_unpriced OR child.model_calls > 0 AND child.currency IS DISTINCT FROM t.currency), false) ${CHILDREN}) END`;
/** What a session `r` cost: the turns before its latest one `t`, that one, and the turns that it has begun by calls. */
const COST_SUM = `coalesce(t.cost_before + ${costOf('t')} + ${DELEGATED_COST}, 0)`;
const COST = moneyJson(COST_SUM, {
  isUnpriced: `coalesce(t.was_unpriced OR t.is_unpriced OR ${IS_DELEGATED_UNPRICED}, false)`,
  currency: 'coalesce(t.currency, r.currency)',
});

const WORKSPACE = `(
  SELECT json_build_object('version', w.version, 'size_bytes', w.size_bytes, 'file_count', w.file_count,
    'updated_at', ${isoText('w.updated_at')}, 'began', w.began)
  FROM workspaces w WHERE w.session_id = r.id)`;

const AGENT = `CASE WHEN r.agent_id IS NOT NULL THEN json_build_object('id', r.agent_id, 'version', ${AGENT_VERSION('r')},
  'follows', r.agent_version IS NULL AND agent.deleted_at IS NULL, 'overrides', coalesce(o.overrides, '{}')) END`;

export function sessionsOf(db: Db, projectId: string): SelectQuery<SessionRow> {
  const query = resourcesOf(db, SessionEntity, projectId)
    .leftJoin('agents', 'agent', 'agent.id = r.agent_id')
    .innerJoin('configurations', 'c', `c.id = coalesce(r.configuration_id, agent.id || '@' || agent.live_version)`)
    .leftJoin('session_overrides', 'o', 'o.session_id = r.id AND o.number = r.overrides_number')
    .leftJoin('turns', 't', 't.id = r.last_turn_id');
  return selectRows(query, {
    model_id: MODEL_ID,
    thinking_enabled: THINKING_ENABLED,
    instruction: INSTRUCTION,
    mcp_servers: 'c.mcp_servers',
    tools: 'c.tools',
    fallback_model_ids: FALLBACK_MODEL_IDS,
    agent: AGENT,
    turn_state: 't.state',
    waiting: '(SELECT count(*)::integer FROM waiting_messages w WHERE w.session_id = r.id)',
    continuable: `coalesce(${CONTINUABLE}, false)`,
    required_actions: OPEN_ACTIONS,
    remembered_approvals: REMEMBERED_APPROVALS,
    waiting_since: WAITING_SINCE,
    cost: COST,
    workspace: WORKSPACE,
    updated_at: 'greatest(r.metadata_updated_at, t.transition_at)',
  });
}

export const SESSION_COLUMNS = `id, agent, project_id, model_id, thinking_enabled, instruction, mcp_servers, metadata, tools::text AS tools,
  end_user, turn_count, last_turn_id, turn_state, waiting, continuable, fallback_model_ids, budget, cost, workspace, preview, required_actions::text AS required_actions, remembered_approvals::text AS remembered_approvals, waiting_since, parent_session_id, forked_from_session_id, forked_from_turn_id, created_at, updated_at`;

/** The statement of `findSession`, built once: every request of a session runs it, and building it takes 0.2 ms. */
let statement: string | undefined;

export async function findSession(db: Db, projectId: string, id: string): Promise<Session | null> {
  if (statement === undefined) {
    const [query] = sessionsOf(db, projectId).andWhere('r.id = :id', { id }).getQueryAndParameters();
    statement = `SELECT ${SESSION_COLUMNS} FROM (${query}) AS session`;
  }
  const [session] = await db.query<Session[]>(statement, [projectId, id]);
  return session ?? null;
}

/** The ids of a session and the state of its latest turn, without its contents, which may be megabytes. */
export type SessionState = Pick<Session, 'id' | 'project_id' | 'last_turn_id' | 'turn_state' | 'parent_session_id'>;

/** Also what the storage of its project has. */
type FoundState = SessionState & {
  stored: StoredBytes;
  /** Whose limits its tokens have (src/sessions/families). */
  family_id: string;
  /** Its user is being erased (src/sessions/erasing.ts). */
  is_erased: boolean;
};

export async function findSessionState(db: Db, projectId: string, id: string): Promise<FoundState | null> {
  const [state] = await runSql<FoundState>(
    db,
    sql`SELECT s.id, s.project_id, s.parent_session_id, s.last_turn_id, t.state AS turn_state, ${rawSql(familyOf('s.id'))} AS family_id,
          ${rawSql(IS_ERASED)} AS is_erased,
          json_build_object('bytes', coalesce(p.bytes, 0), 'row_bytes', coalesce(p.row_bytes, 0)) AS stored
        FROM sessions s LEFT JOIN turns t ON t.id = s.last_turn_id
          LEFT JOIN project_storage p ON p.project_id = s.project_id
        WHERE s.project_id = ${projectId} AND s.id = ${id} AND s.deleted_at IS NULL`,
  );
  return state ?? null;
}

export interface SessionServers {
  /** For whom the session acts. */
  user: string | null;
  serverIds: string[];
  /** The servers that may ask the person. */
  askingServerIds: string[];
}

const SERVERS = rawSql(`end_user AS user, c.mcp_servers AS "serverIds",
  ARRAY(SELECT entry->>'mcp_server_id' FROM json_array_elements(c.tools) AS entry
    WHERE entry->>'type' = 'mcp_toolset' AND entry->>'elicitation' = 'true') AS "askingServerIds"`);
const NO_SERVERS = { user: null, serverIds: [], askingServerIds: [] };

/** The MCP servers of a session's next turn and of its last one, which may be open; none if it is gone. */
export async function findSessionServers(db: Db, id: string): Promise<Pick<SessionServers, 'user' | 'serverIds'>> {
  const rows = await runSql<SessionServers>(
    db,
    sql`SELECT ${SERVERS} FROM sessions s ${rawSql(configurationOfSession('s'))} WHERE s.id = ${id}
        UNION ALL
        SELECT ${SERVERS} FROM sessions s JOIN turns t ON t.id = s.last_turn_id JOIN configurations c ON c.id = t.configuration_id
        WHERE s.id = ${id}`,
  );
  const [next = NO_SERVERS, last = NO_SERVERS] = rows;
  return { user: next.user, serverIds: [...next.serverIds, ...last.serverIds] };
}

/** The MCP servers of a turn; none if it is gone. */
export async function findServersOfTurn(db: Db, turnId: string): Promise<SessionServers> {
  const [row] = await runSql<SessionServers>(
    db,
    sql`SELECT ${SERVERS} FROM turns t JOIN configurations c ON c.id = t.configuration_id
          JOIN sessions ON sessions.id = t.session_id
        WHERE t.id = ${turnId}`,
  );
  return row ?? NO_SERVERS;
}

/**
 * Locks the session's row until the transaction ends and reads it, so that no new turn can be queued meanwhile. The
 * lock order everywhere is: open turn, session's state, session, admission of the project's turns.
 */
export async function lockSession(tx: Tx, projectId: string, id: string): Promise<Session | null> {
  // The end of a turn changes the state, and then locks the session to start the next turn.
  await runSql(tx, sql`SELECT FROM session_states WHERE session_id = ${id} AND project_id = ${projectId} FOR UPDATE`);
  // Two statements: after a wait for the lock, a single statement would join the new session row with the old latest
  // turn.
  const row = resourcesOf(tx, SessionEntity, projectId).andWhere('r.id = :id', { id }).select('r.id');
  const locked = await row.setLock('pessimistic_write').getRawOne<object>();
  return locked === undefined ? null : findSession(tx, projectId, id);
}

type NewSession = Pick<SessionRow, 'id' | 'project_id' | 'metadata' | 'currency' | 'budget' | 'end_user'>;

/** A configuration of a session's own. */
export type OwnConfiguration = Pick<
  SessionRow,
  'model_id' | 'thinking_enabled' | 'instruction' | 'mcp_servers' | 'tools' | 'model_tools' | 'fallback_model_ids'
>;

/** Inserts a session of its own configuration; a trigger stores that as a row of `configurations`. */
export async function insertSession(tx: Tx, session: NewSession & OwnConfiguration): Promise<Session> {
  const times = await insertSessionRow(tx, session);
  const { model_tools: _, currency, ...shown } = { ...session, tools: JSON.stringify(session.tools) };
  insertSessionState(tx, session.id, 'idle');
  const workspace = hasWorkspace(session.tools) ? insertWorkspace(tx, session) : null;
  return {
    ...shown,
    agent: null,
    preview: null,
    turn_count: 0,
    last_turn_id: null,
    turn_state: null,
    waiting: 0,
    continuable: false,
    cost: currency === null ? null : { amount: '0', currency },
    workspace,
    required_actions: '[]',
    remembered_approvals: '[]',
    waiting_since: null,
    parent_session_id: null,
    forked_from_session_id: null,
    forked_from_turn_id: null,
    ...times,
  };
}

/** Inserts a session of an agent. */
export async function insertSessionOfAgent(tx: Tx, session: NewSession, agent: AgentOfSession): Promise<Session> {
  await insertSessionRow(tx, { ...session, ...referenceColumns(agent, 1) });
  insertOverrides(tx, session.id, 1, agent.overrides);
  insertSessionState(tx, session.id, 'idle');
  if (agent.hasWorkspace) insertWorkspace(tx, session);
  return (await findSession(tx, session.project_id, session.id))!;
}

async function insertSessionRow(
  tx: Tx,
  session: Partial<SessionRow> & Pick<SessionRow, 'project_id' | 'end_user'>,
): Promise<Pick<Session, 'created_at' | 'updated_at'>> {
  lockForNewSession(tx, session.project_id, session.end_user);
  const now = (): string => 'statement_timestamp()';
  const result = await tx
    .createQueryBuilder()
    .insert()
    .into(SessionEntity)
    .values({ ...session, created_at: now, metadata_updated_at: now } as object)
    .returning('created_at, metadata_updated_at AS updated_at')
    .execute();
  return (result.raw as [Pick<Session, 'created_at' | 'updated_at'>])[0];
}

const INSERT_WORKSPACE = `
  INSERT INTO workspaces (session_id, project_id, version, objects, cwd, size_bytes, file_count)
  VALUES ($1, $2, 0, '{}', '/workspace', 0, 0) ON CONFLICT DO NOTHING`;

/** Gives a session an empty workspace, unless it has one (src/workspaces/store.ts). */
export function insertWorkspace(tx: Tx, { id, project_id }: Pick<NewSession, 'id' | 'project_id'>): SessionWorkspace {
  write(tx, INSERT_WORKSPACE, [id, project_id]);
  return { version: 0, size_bytes: 0, file_count: 0, updated_at: null, began: null };
}

const INSERT_SESSION_STATE = `
  INSERT INTO session_states (session_id, project_id, state, created_at, active_at, preview_folded, row_bytes, is_child)
  SELECT sessions.id, project_id, $2, created_at, metadata_updated_at, preview_folded,
    ${SESSION_ROW_BYTES} + $3::bigint, ${isChildRow('sessions')}
  FROM sessions LEFT JOIN configurations c ON c.id = sessions.id WHERE sessions.id = $1`;

/**
 * Adds a new session to the lists by status and by activity, and to the bytes of its project.
 * @param state in which its last turn ended; `idle` without one
 * @param turnBytes of its turns
 */
export function insertSessionState(tx: Tx, id: string, state: TurnState | 'idle', turnBytes = 0): void {
  write(tx, INSERT_SESSION_STATE, [id, state, turnBytes]);
}

type ChangedFields = Partial<Pick<SessionRow, 'metadata' | 'budget'>> & {
  agent?: NewAgentOfSession;
};

/** Replaces metadata, budget or agent of a locked session, or takes remembered approvals back, and returns the updated session. */
export async function updateFields(
  tx: Tx,
  session: Session,
  { agent, ...fields }: ChangedFields,
  forgotten: readonly string[] = [],
): Promise<Session> {
  const remembered_approvals = await forgetApprovals(tx, session, forgotten);
  const moreBytes = agent === undefined ? 0 : await replaceAgent(tx, session.id, agent);
  if (agent?.hasWorkspace === true) insertWorkspace(tx, session);
  const result = await tx
    .createQueryBuilder()
    .update(SessionEntity)
    .set({ ...fields, metadata_updated_at: () => 'clock_timestamp()' })
    .where('id = :id', { id: session.id })
    .returning('metadata_updated_at AS updated_at')
    .execute();
  if (fields.budget !== undefined) await shareBudget(tx, session.id, fields.budget);
  const bytesOf = (metadata: Metadata): number => Buffer.byteLength(JSON.stringify(metadata));
  const metadataBytes = bytesOf(fields.metadata ?? session.metadata) - bytesOf(session.metadata);
  await runSql(
    tx,
    sql`UPDATE session_states SET active_at = greatest(active_at, metadata_updated_at),
          row_bytes = row_bytes + ${moreBytes + metadataBytes}::bigint
        FROM sessions WHERE sessions.id = ${session.id} AND session_id = sessions.id`,
  );
  if (agent !== undefined) return (await findSession(tx, session.project_id, session.id))!;
  return { ...session, ...fields, remembered_approvals, ...(result.raw as [Pick<Session, 'updated_at'>])[0] };
}

/**
 * Soft-deletes a locked session together with its events and its child sessions, and discards their workspaces and what waits. Returns the
 * ids of those that had a workspace.
 */
export async function softDeleteSession(tx: Tx, id: string): Promise<string[]> {
  await runSql(tx, sql`DELETE FROM waiting_messages WHERE session_id = ${id}`);
  const children = await deleteChildren(tx, [id]);
  const workspaces = await runSql<{ id: string }>(
    tx,
    sql`DELETE FROM workspaces WHERE session_id = ANY(${[id, ...children]}::text[]) RETURNING session_id AS id`,
  );
  await softDelete(tx, SessionEntity, id);
  return workspaces.map((workspace) => workspace.id);
}

/** Child sessions go with their parents, which the transaction has locked. They have no open turn. Returns their ids. */
export async function deleteChildren(tx: Tx, parentIds: string[]): Promise<string[]> {
  const rows = await runSql<{ id: string }>(
    tx,
    sql`UPDATE sessions SET deleted_at = clock_timestamp()
        WHERE parent_session_id = ANY(${parentIds}::text[]) AND deleted_at IS NULL RETURNING id`,
  );
  const ids = rows.map((row) => row.id);
  if (ids.length > 0) await emptyAnswers(tx, ids);
  return ids;
}

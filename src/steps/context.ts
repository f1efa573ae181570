import type { Db } from '../db/db.js';
import type { McpTool, RequiredApproval } from '../db/entities/mcp-servers.js';
import type { TurnFields } from '../db/entities/turns.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import type {
  McpToolset,
  MemoryTool,
  PermissionPolicy,
  SessionTool,
  WorkspaceToolset,
} from '../db/entities/sessions.js';
import type { Workspace } from '../workspaces/store.js';
import { ownersBudget, SPENT_OR_RESERVED } from '../db/money.js';
import type { Budget } from '../sessions/budget.js';
import type { FileSnapshot, SkillSnapshot } from '../events/fields.js';
import {
  configurationOfTurn,
  FALLBACK_MODEL_IDS,
  INSTRUCTION,
  MODEL_ID,
  THINKING_ENABLED,
} from '../sessions/configured.js';
import { findToolset } from '../mcp/toolsets.js';
import { TurnEndedError } from '../turns/errors.js';

interface TurnServer {
  id: string;
  name: string;
  tools: readonly McpTool[];
  /** Names of the offered tools; null: all. */
  offeredTools: string[] | null;
  /** As the server had them when the turn began. */
  requiredApprovals: RequiredApproval[];
  /** Its calls use the credential of the session's user (decisions.md "User credentials"). */
  asUser: boolean;
}

/** An agent that calls of a turn may name, as it was when the turn began. */
export interface CallableAgent {
  id: string;
  /** Null: the one that is live at the time of the call. */
  version: number | null;
  name: string;
  description: string;
  /** That of the entry; null without one. */
  policy: PermissionPolicy | null;
}

export interface TurnContext extends Pick<
  TurnFields,
  'id' | 'sessionId' | 'projectId' | 'number' | 'state' | 'queuedAt' | 'modelId' | 'messageNumber' | 'hasWaiting'
> {
  /** Those of its agent, then those that its message selects. */
  skills: SkillSnapshot[];
  files: FileSnapshot[];
  fallbackModelId: string | null;
  fallbackModelIds: string[];
  /** In a child session that of its parent. */
  budget: Budget | null;
  /** The decimal number that the model calls cost so far which the budget is for, with what those of copies reserve. */
  spent: string;
  /** The turn that has a call on which this one works, and its session; null for others. */
  parentTurnId: string | null;
  parentSessionId: string | null;
  /** The agents that it may call, in the order of the entries of `tools`. */
  agents: CallableAgent[];
  thinkingEnabled: boolean;
  instruction: string | null;
  /** The connected servers, in the session's order. */
  servers: TurnServer[];
  /** The permissions in the session's `tools`. Its custom tools are not loaded: they may have megabytes. */
  toolsets: McpToolset[];
  /** The types of the entries in the session's `tools`. */
  toolTypes: SessionTool['type'][];
  /** The memories in the session's `tools`, and what decides whose they are (src/memories/owner.ts). */
  memories: MemoryTool[];
  user: string | null;
  agentId: string | null;
  /** The newest version of the session's workspace, and its entry in `tools`; null in a session without one. */
  workspace: (Workspace & { entry: WorkspaceToolset }) | null;
  /** False if the session's `tools` are empty. */
  hasTools: boolean;
}

/**
 * The columns and tables of a `ContextRow`. Append a condition on `turns`. OFFSET 0 keeps the search of the message a query of
 * its own: in a join the planner, without statistics, reads the first messages of all turns of the session.
 */
export const CONTEXT = rawSql(`
  turns.id, turns.session_id AS "sessionId", turns.project_id AS "projectId", turns.number, turns.state,
  turns.queued_at AS "queuedAt", message.data->'skills' AS skills, turns.agent_skills AS "agentSkills", message.data->'files' AS files,
  coalesce(turns.message_number, turns.number) AS "messageNumber", turns.has_waiting AS "hasWaiting",
  coalesce(turns.fallback_model_id, turns.model_id, ${MODEL_ID}) AS "modelId",
  turns.fallback_model_id AS "fallbackModelId", ${FALLBACK_MODEL_IDS} AS "fallbackModelIds",
  turns.parent_turn_id AS "parentTurnId", sessions.parent_session_id AS "parentSessionId",
  ${ownersBudget('sessions')} AS budget, ${SPENT_OR_RESERVED}::text AS spent,
  coalesce(turns.thinking_enabled, ${THINKING_ENABLED}) AS "thinkingEnabled",
  ${INSTRUCTION} AS instruction, json_array_length(c.tools) > 0 AS "hasTools", entries.toolsets, entries.types AS "toolTypes",
  entries.memories, sessions.end_user AS "user", turns.agent_id AS "agentId",
  CASE WHEN 'agent' = ANY(entries.types) AND turns.parent_turn_id IS NULL THEN coalesce((
    SELECT json_agg(json_build_object('id', agent_id, 'version', version, 'name', name, 'description', description,
      'policy', permission_policy) ORDER BY index)
    FROM turn_agents WHERE turn_id = turns.id), '[]') ELSE '[]' END AS agents, (
    SELECT json_build_object('version', version, 'manifestKey', objects[1], 'cwd', cwd, 'entry', entry)
    FROM workspaces, json_array_elements(c.tools) AS entry
    WHERE session_id = sessions.id AND entry->>'type' = 'workspace') AS workspace, coalesce((
    SELECT json_agg(json_build_object('id', server_id, 'name', name, 'toolsetHash', toolset_hash,
      'offeredTools', offered_tools, 'asUser', as_user, 'requiredApprovals', coalesce(required_approvals, '[]')) ORDER BY index)
    FROM turn_servers WHERE turn_id = turns.id AND connected), '[]') AS servers
  FROM turns ${configurationOfTurn('turns')} JOIN sessions ON sessions.id = turns.session_id
    CROSS JOIN LATERAL (
      SELECT coalesce(json_agg(entry) FILTER (WHERE type = 'mcp_toolset'), '[]') AS toolsets,
        coalesce(json_agg(entry) FILTER (WHERE type = 'memory'), '[]') AS memories,
        coalesce(array_agg(DISTINCT type), '{}') AS types
      FROM json_array_elements(c.tools) AS entry, LATERAL (SELECT entry->>'type' AS type) AS of_entry) AS entries
    CROSS JOIN LATERAL (
      SELECT data FROM events
      WHERE events.session_id = turns.session_id AND turn_number = coalesce(turns.message_number, turns.number) AND position = 1
      OFFSET 0) AS message`);

export interface ContextRow extends Omit<TurnContext, 'servers'> {
  /** Those of the turn's agent; null without one. */
  agentSkills: SkillSnapshot[] | null;
  servers: (Pick<TurnServer, 'id' | 'name' | 'offeredTools' | 'asUser' | 'requiredApprovals'> & {
    toolsetHash: string;
  })[];
}

/**
 * Adds the tools of its servers to a turn, and the skills of its agent to those of its message. The process caches toolsets, which never change.
 * @throws TurnEndedError
 */
export async function withToolsets<Row extends ContextRow>(
  db: Db,
  row: Row,
): Promise<Omit<Row, 'servers' | 'agentSkills'> & Pick<TurnContext, 'servers'>> {
  const servers = row.servers.map(async ({ toolsetHash, ...server }): Promise<TurnServer> => {
    const tools = await findToolset(db, server.id, toolsetHash);
    if (tools === null) throw new TurnEndedError(row.id, row.state);
    return { ...server, tools };
  });
  const { agentSkills, servers: _, ...turn } = row;
  const ofAgent = (agentSkills ?? []).filter(({ id }) => row.skills.every((skill) => skill.id !== id));
  return { ...turn, skills: [...ofAgent, ...row.skills], servers: await Promise.all(servers) };
}

/** @throws TurnEndedError if the turn is gone */
export async function loadContext(db: Db, turnId: string): Promise<TurnContext> {
  const [row] = await runSql<ContextRow>(db, sql`SELECT ${CONTEXT} WHERE turns.id = ${turnId}`);
  if (row === undefined) throw new TurnEndedError(turnId);
  return withToolsets(db, row);
}

/** The decimal number that the calls of the turn's session cost by now. */
export async function loadSpent(db: Db, turnId: string): Promise<Pick<TurnContext, 'spent'>> {
  const [turn] = await runSql<Pick<TurnContext, 'spent'>>(
    db,
    sql`SELECT ${rawSql(SPENT_OR_RESERVED)}::text AS spent FROM turns WHERE id = ${turnId}`,
  );
  if (turn === undefined) throw new TurnEndedError(turnId);
  return turn;
}

/** The project of a turn; an empty text if the turn is gone. */
export async function loadProjectId(db: Db, turnId: string): Promise<string> {
  const [turn] = await runSql<{ id: string }>(db, sql`SELECT project_id AS id FROM turns WHERE id = ${turnId}`);
  return turn?.id ?? '';
}

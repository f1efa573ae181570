import type { DataSource } from 'typeorm';
import type { CustomTool, SessionTool } from '../../src/sessions/tools.js';
import type { McpTool } from '../../src/db/entities/mcp-servers.js';
import type { FileSnapshot, SkillSnapshot } from '../../src/events/fields.js';
import { loadToolset } from '../../src/mcp/toolsets.js';
import { TurnEndedError } from '../../src/turns/turn.js';

/** A server of the turn's session as the turn recorded it when it connected. */
export interface TurnServer {
  id: string;
  name: string;
  tools: readonly McpTool[];
  /** Names of the tools that the turn offers; null: all. */
  offered_tools: string[] | null;
}

/** What the activities of a turn know of it. */
export interface TurnContext {
  id: string;
  sessionId: string;
  projectId: string;
  number: number;
  queuedAt: string;
  skills: SkillSnapshot[];
  files: FileSnapshot[];
  modelId: string;
  thinkingEnabled: boolean;
  instruction: string | null;
  /** Connected servers, in the session's order. */
  servers: TurnServer[];
  /** The session's `tools`, and the custom ones as the model is offered them. */
  tools: SessionTool[];
  customTools: CustomTool[];
}

interface Row {
  id: string;
  session_id: string;
  project_id: string;
  number: number;
  queued_at: string;
  skills: SkillSnapshot[];
  files: FileSnapshot[];
  model_id: string;
  thinking_enabled: boolean;
  instruction: string | null;
  servers: ServerRow[];
  tools: SessionTool[];
  model_tools: CustomTool[];
}

interface ServerRow extends Pick<TurnServer, 'id' | 'name' | 'offered_tools'> {
  /** Null for a turn that an older version of the service connected, which stored `tools` with the turn. */
  toolset_hash: string | null;
  tools: McpTool[] | null;
}

/**
 * Loads a running turn.
 * @throws TurnEndedError when it does not run (any more)
 */
export async function loadTurn(db: DataSource, turnId: string): Promise<TurnContext> {
  const [row]: Row[] = await db.query(
    `SELECT turns.id, session_id, turns.project_id, number, queued_at, skills, files, model_id, thinking_enabled, instruction,
       sessions.tools, model_tools,
       coalesce((SELECT json_agg(json_build_object('id', server_id, 'name', name, 'toolset_hash', toolset_hash,
           'offered_tools', offered_tools, 'tools', turn_servers.tools) ORDER BY index)
         FROM turn_servers WHERE turn_id = turns.id AND connected), '[]') AS servers
     FROM turns JOIN sessions ON sessions.id = session_id WHERE turns.id = $1 AND state = 'running'`,
    [turnId],
  );
  if (row === undefined) throw new TurnEndedError(turnId);
  return {
    id: row.id,
    sessionId: row.session_id,
    projectId: row.project_id,
    number: row.number,
    queuedAt: row.queued_at,
    skills: row.skills,
    files: row.files,
    modelId: row.model_id,
    thinkingEnabled: row.thinking_enabled,
    instruction: row.instruction,
    servers: await Promise.all(row.servers.map((server) => withTools(db, server))),
    tools: row.tools,
    customTools: row.model_tools,
  };
}

async function withTools(db: DataSource, { toolset_hash, tools, ...server }: ServerRow): Promise<TurnServer> {
  return { ...server, tools: toolset_hash === null ? (tools ?? []) : await loadToolset(db, server.id, toolset_hash) };
}

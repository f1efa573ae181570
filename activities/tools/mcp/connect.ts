import type { Database } from '../../../src/db/db.js';
import type { McpServerRow } from '../../../src/db/entities/mcp-servers.js';
import { transaction } from '../../../src/db/transaction.js';
import type { NewEvent } from '../../../src/events/schema.js';
import { findServers, getServer, lockServer } from '../../../src/mcp/find-servers.js';
import { failureReason } from '../../../src/mcp/reasons.js';
import { recordServerState, storeTools } from '../../../src/mcp/store.js';
import type { KeptTools } from '../../../src/mcp/tools.js';
import { hashTools } from '../../../src/mcp/toolsets.js';
import { findServersOfTurn, type SessionServers } from '../../../src/sessions/store.js';
import { insertTurnServers } from '../../../src/mcp/turn-servers.js';
import type { Turn } from '../../../src/turns/turn.js';
import { MAX_LOST_WORKERS } from '../../../src/steps/lost-workers.js';
import { toolStatuses } from '../../../src/mcp/tool-status.js';
import type { ToolDeps } from '../tool.js';
import type { BeginAttempt, Beginning } from '../tool-source.js';
import { logFailure } from './log-failure.js';

/** Limit for the tool names in one `agent.mcp_error`, in characters. */
const MAX_LIST_LENGTH = 1000;

/** A server of a turn. `failure` is the text of `agent.mcp_error` and `last_connect_error`; null when connected. */
interface ConnectedServer {
  server: McpServerRow;
  failure: string | null;
}

/** The tools of a server that acts as a user are those of the last probe. A call connects, with the user's credential. */
const NO_USER = 'The MCP server acts as a user, and the session has none: create it with `user`.';

/**
 * Connects the session's MCP servers at the start of a turn, and records which tools the turn offers. Later changes to the servers
 * take effect from the next turn. A server that fails is reported, and its tools are missing.
 */
export async function beginServers(
  deps: Pick<ToolDeps, 'mcp' | 'db' | 'log'>,
  { projectId, id: turnId }: Pick<Turn, 'id' | 'projectId'>,
  { signal, lostWorkers }: BeginAttempt,
): Promise<Beginning> {
  const session = await findServersOfTurn(deps.db, turnId);
  const servers = await findServers(deps.db, projectId, session.serverIds);
  const connected =
    lostWorkers < MAX_LOST_WORKERS
      ? await connectServers(servers, session, deps, signal)
      : await skipServers(servers, deps, lostWorkers);
  const records = connected.map(({ server, failure }) => ({
    server,
    connected: failure === null,
    offeredTools: namesOffered(server),
  }));
  return { events: connected.flatMap(eventsOf), store: (tx) => insertTurnServers(tx, turnId, records) };
}

/**
 * Connects all servers of a session in parallel at the start of a turn, with one attempt of 8 s each (decisions.md "Resources"),
 * and records the outcome in their rows. A failed connection is an outcome, not an error.
 * @throws the signal's reason when it aborts
 */
export async function connectServers(
  servers: readonly McpServerRow[],
  { askingServerIds, user }: Pick<SessionServers, 'askingServerIds' | 'user'>,
  { mcp, db, log }: Pick<ToolDeps, 'mcp' | 'db' | 'log'>,
  signal: AbortSignal,
): Promise<ConnectedServer[]> {
  return Promise.all(
    servers.map(async (server): Promise<ConnectedServer> => {
      if (server.credentials === 'user') return { server, failure: user === null ? NO_USER : null };
      const { failure, tools } = await mcp
        .verify({ ...server, mayAsk: askingServerIds.includes(server.id) }, signal)
        .then(
          (tools) => ({ failure: null, tools }),
          (error: unknown) => {
            signal.throwIfAborted();
            logFailure(log, { mcp_server_id: server.id }, error, 'an MCP server of a turn could not be connected');
            return { failure: `The MCP server could not be connected: ${failureReason(error)}.`, tools: null };
          },
        );
      await recordServerState(db, server.id, failure);
      return { server: tools === null ? server : await withCurrentTools(db, server, tools), failure };
    }),
  );
}

/** Reports all servers as failed: connecting them has taken several workers down, and which one did is not known. */
async function skipServers(
  servers: readonly McpServerRow[],
  { db, log }: Pick<ToolDeps, 'db' | 'log'>,
  lostWorkers: number,
): Promise<ConnectedServer[]> {
  const failure = `The MCP server was not connected: ${lostWorkers} workers were lost while they connected the session’s MCP servers.`;
  return Promise.all(
    servers.map(async (server) => {
      log.error({ mcp_server_id: server.id, lost_workers: lostWorkers }, 'an MCP server of a turn was not connected');
      if (server.credentials !== 'user') await recordServerState(db, server.id, failure);
      return { server, failure };
    }),
  );
}

async function withCurrentTools(db: Database, server: McpServerRow, kept: KeptTools): Promise<McpServerRow> {
  if (hashTools(kept.tools) === server.toolset_hash && kept.leftOut === server.tools_left_out) return server;
  return transaction(db, async (tx) => {
    const locked = await lockServer(tx, server.project_id, server.id);
    if (locked.credential_version === server.credential_version) await storeTools(tx, locked, kept);
    return getServer(tx, server.project_id, server.id);
  });
}

/** What clients see of a server whose tools are missing, in part or all of them. */
function eventsOf({ server, failure }: ConnectedServer): NewEvent[] {
  const messages =
    failure === null ? [heldBackMessage(server), leftOutMessage(server), unlistedMessage(server)] : [failure];
  const message = messages.filter((one) => one !== null).join(' ');
  if (message === '') return [];
  return [{ type: 'agent.mcp_error', data: { mcp_server_id: server.id, name: server.name, message } }];
}

/** Names of the tools that the allow-list permits and that are not held back; null if these are all tools. */
function namesOffered(server: McpServerRow): string[] | null {
  const names = server.tool_list.map(({ name }) => name);
  const statusOf = toolStatuses(server);
  const offered = names.filter((name) => statusOf(name) === 'offered');
  return offered.length === names.length ? null : offered;
}

function heldBackMessage(server: McpServerRow): string | null {
  const statusOf = toolStatuses(server);
  const names = server.changed_tools.map(({ name }) => name).filter((name) => statusOf(name) === 'held_back');
  if (names.length === 0) return null;
  const list = names.join(', ');
  const shown = list.length > MAX_LIST_LENGTH ? `${list.slice(0, MAX_LIST_LENGTH).toWellFormed()}…` : list;
  return `New or changed tools of the MCP server are held back until a person accepts them: ${shown}.`;
}

/** Why tools of the server are not in the turn, other than by the wish of a person; null if none is missing. */
function leftOutMessage({ tools_left_out, tool_list, allowed_tools }: McpServerRow): string | null {
  // Those of `allowed_tools` are always kept.
  if (tools_left_out === 0 || allowed_tools !== null) return null;
  const kept = tool_list.length;
  return `Of ${kept + tools_left_out} tools of the MCP server ${tools_left_out} are left out of this turn: choose those that the agent needs with allowed_tools.`;
}

/** A server that only its users authorize has no tools before the first of them has done so. No call can wait for that. */
function unlistedMessage({ credentials, last_probed_at }: McpServerRow): string | null {
  if (credentials !== 'user' || last_probed_at !== null) return null;
  return (
    'The tools of the MCP server are not known yet, because nobody has authorized it. Let the user of the session do so ' +
    '(POST /v1/sessions/{session_id}/authorize), or authorize the server itself (POST /v1/mcp-servers/{mcp_server_id}/authorize).'
  );
}

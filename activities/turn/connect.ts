import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import type { NewEvent } from '../../src/events/schema.js';
import { findServers } from '../../src/mcp/find-servers.js';
import { claimTurn } from '../../src/turns/claim.js';
import { recordTurnServers } from '../../src/steps/servers.js';
import { connectServers, skipServers, type ConnectedServer } from './connect-servers.js';
import type { ActivityDeps } from '../deps.js';
import { MAX_LOST_WORKERS, runActivity } from './run-activity.js';
import { toolStatus } from '../../src/mcp/tool-status.js';
import type { TurnActivities } from './turn-activities.js';

/** Limit for the tool names in one `agent.mcp_error`, in characters. */
const MAX_LIST_LENGTH = 1000;

/**
 * Connects the session's MCP servers and records once which tools the turn offers. Later changes to the servers take
 * effect from the next turn. A server that fails is reported, and its tools are missing.
 */
export function connectMcpServers(deps: ActivityDeps): TurnActivities['connectMcpServers'] {
  return ({ turnId }) =>
    runActivity(deps, { turn_id: turnId }, async (signal, { lostWorkers }) => {
      const turn = await claimTurn(deps, turnId);
      if (turn.isConnected) return;
      const servers = await findServers(deps.db, turn.projectId, turn.serverIds);
      const began = performance.now();
      const connected =
        lostWorkers < MAX_LOST_WORKERS
          ? await connectServers(servers, turn, deps, signal)
          : await skipServers(servers, deps, lostWorkers);
      await record(deps, turnId, connected, Math.round(performance.now() - began));
    });
}

async function record(deps: ActivityDeps, turnId: string, servers: ConnectedServer[], tookMs: number): Promise<void> {
  const events = servers.flatMap(({ server, failure }): NewEvent[] => {
    const message = failure ?? heldBackMessage(server);
    if (message === null) return [];
    return [{ type: 'agent.mcp_error', data: { mcp_server_id: server.id, name: server.name, message } }];
  });
  const records = servers.map(({ server, failure }) => ({
    server,
    connected: failure === null,
    offeredTools: namesOffered(server),
  }));
  await recordTurnServers(deps, turnId, { events, records, tookMs });
}

/** Names of the tools that the allow-list permits and that are not held back; null if these are all tools. */
function namesOffered(server: McpServerRow): string[] | null {
  const names = server.tool_list.map(({ name }) => name);
  const offered = names.filter((name) => toolStatus(server, name) === 'offered');
  return offered.length === names.length ? null : offered;
}

function heldBackMessage(server: McpServerRow): string | null {
  const names = server.changed_tools.map(({ name }) => name).filter((name) => toolStatus(server, name) === 'held_back');
  if (names.length === 0) return null;
  const list = names.join(', ');
  const shown = list.length > MAX_LIST_LENGTH ? `${list.slice(0, MAX_LIST_LENGTH)}…` : list;
  return `New or changed tools of the MCP server are held back until a person accepts them: ${shown}.`;
}

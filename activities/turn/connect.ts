import { sql } from '../../src/db/sql.js';
import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import type { NewEvent } from '../../src/events/schema.js';
import { findServers } from '../../src/mcp/store.js';
import { claimTurn } from '../../src/turns/claim.js';
import { OvertakenError } from '../../src/turns/turn.js';
import { writeTurn } from '../../src/turns/write.js';
import { connectServers, type ConnectOutcome } from './connect-servers.js';
import type { ActivityDeps } from '../deps.js';
import { runActivity } from './run-activity.js';
import { isAllowed } from '../tools/mcp/call.js';
import type { TurnActivities } from './turn-activities.js';

/**
 * Connects the session's MCP servers and records, once for the turn, which tools it offers: what is renamed, probed or
 * deleted from then on takes effect from the next turn. A server that fails is reported and absent.
 */
export function connectMcpServers(deps: ActivityDeps): TurnActivities['connectMcpServers'] {
  return ({ turnId }) =>
    runActivity(deps.log, { turn_id: turnId }, async (signal) => {
      const turn = await claimTurn(deps, turnId);
      if (turn.is_connected) return;
      const found = await findServers(deps.db, turn.project_id, turn.mcp_servers);
      const servers = turn.mcp_servers.flatMap((id) => found.filter((server) => server.id === id));
      const began = performance.now();
      const outcomes = await connectServers(servers, deps, signal);
      await record(deps, turnId, servers, outcomes, Math.round(performance.now() - began));
    });
}

async function record(
  deps: ActivityDeps,
  turnId: string,
  servers: McpServerRow[],
  outcomes: ConnectOutcome[],
  tookMs: number,
): Promise<void> {
  const errorOf = (id: string): string | null => {
    const outcome = outcomes.find((one) => one.serverId === id);
    return outcome === undefined || outcome.ok ? null : outcome.message;
  };
  const events = servers.flatMap((server): NewEvent[] => {
    const message = errorOf(server.id);
    if (message === null) return [];
    return [{ type: 'agent.mcp_error', data: { mcp_server_id: server.id, name: server.name, message } }];
  });
  const tools = servers.map((server) => JSON.stringify(server.tools.filter((tool) => isAllowed(server, tool.name))));
  const insertServers = sql`
    INSERT INTO turn_servers (turn_id, server_id, index, name, tools, connected)
    SELECT written.id, server.id, n, name, tools, connected
    FROM written, unnest(${servers.map(({ id }) => id)}::text[], ${servers.map(({ name }) => name)}::text[],
      ${tools}::json[], ${servers.map(({ id }) => errorOf(id) === null)}::boolean[])
      WITH ORDINALITY AS server(id, name, tools, connected, n)`;
  const fence = { from: 'running', where: sql`connected_at IS NULL` } as const;
  const set = [sql`connected_at = now.at, connect_ms = ${tookMs}::integer`];
  try {
    await writeTurn(deps, turnId, fence, { events, set, parts: [insertServers] });
  } catch (error) {
    // Another attempt has recorded its connections: they stand.
    if (!(error instanceof OvertakenError)) throw error;
  }
}

import { transaction } from '../../src/db/transaction.js';
import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import { appendEvents } from '../../src/events/store.js';
import type { NewEvent } from '../../src/events/schema.js';
import { findServers } from '../../src/mcp/store.js';
import { lockRunningTurn, TurnEndedError } from '../../src/turns/lock.js';
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
      const [turn]: { project_id: string; mcp_servers: string[]; connected: boolean }[] = await deps.db.query(
        `SELECT turns.project_id, mcp_servers, connected_at IS NOT NULL AS connected
         FROM turns JOIN sessions ON sessions.id = session_id WHERE turns.id = $1 AND state = 'running'`,
        [turnId],
      );
      if (turn === undefined) throw new TurnEndedError(turnId);
      if (turn.connected) return;
      const found = await findServers(deps.db, turn.project_id, turn.mcp_servers);
      const servers = turn.mcp_servers.flatMap((id) => found.filter((server) => server.id === id));
      const began = performance.now();
      const outcomes = await connectServers(servers, deps, signal);
      await record(deps, turnId, servers, outcomes, Math.round(performance.now() - began));
    });
}

async function record(
  { db, notifier }: ActivityDeps,
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
  const recorded = await transaction(db, async (tx) => {
    const turn = await lockRunningTurn(tx, turnId);
    const [updated]: [unknown[]] = await tx.query(
      `UPDATE turns SET connected_at = clock_timestamp(), connect_ms = $2 WHERE id = $1 AND connected_at IS NULL RETURNING id`,
      [turnId, tookMs],
    );
    if (updated.length === 0) return null;
    await tx.query(
      `INSERT INTO turn_servers (turn_id, server_id, index, name, tools, connected)
       SELECT $1, id, n, name, tools, connected
       FROM unnest($2::text[], $3::text[], $4::json[], $5::boolean[]) WITH ORDINALITY AS server(id, name, tools, connected, n)`,
      [
        turnId,
        servers.map((server) => server.id),
        servers.map((server) => server.name),
        servers.map((server) => JSON.stringify(server.tools.filter((tool) => isAllowed(server, tool.name)))),
        servers.map((server) => errorOf(server.id) === null),
      ],
    );
    await appendEvents(tx, turn, events);
    return turn;
  });
  if (recorded !== null) notifier.notify(recorded);
}

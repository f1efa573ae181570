import { sql } from '../db/sql.js';
import { open, writeTurn, type TurnDeps } from './write.js';

interface Claimed {
  projectId: string;
  sessionId: string;
  serverIds: string[];
  /** Those that may ask the person. */
  askingServerIds: string[];
  /** True once the turn has connected them. */
  isConnected: boolean;
}

/**
 * Claims a turn for running: queued → running. A running turn stays as it is (a retry, a replay, a reset). The workflow
 * id is the turn id, so only one workflow runs a turn.
 * @throws TurnEndedError
 */
export async function claimTurn(deps: TurnDeps, turnId: string): Promise<Claimed> {
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id FROM turns WHERE ${open(turnId)} FOR NO KEY UPDATE),
      now AS MATERIALIZED (SELECT id, clock_timestamp() AS at FROM turn),
      written AS (
        UPDATE turns SET state = 'running', started_at = coalesce(turns.started_at, now.at), progress_at = now.at,
          transition_at = CASE turns.state WHEN 'queued' THEN now.at ELSE turns.transition_at END
        FROM now WHERE turns.id = now.id
        RETURNING project_id, session_id, connected_at)
    SELECT written.project_id AS "projectId", session_id AS "sessionId", mcp_servers AS "serverIds", connected_at IS NOT NULL AS "isConnected",
      ARRAY(SELECT entry->>'mcp_server_id' FROM json_array_elements(sessions.tools) AS entry
        WHERE entry->>'type' = 'mcp_toolset' AND entry->>'elicitation' = 'true') AS "askingServerIds"
    FROM written JOIN sessions ON sessions.id = session_id`;
  const { row } = await writeTurn<Claimed>(deps, turnId, { statement });
  return row;
}

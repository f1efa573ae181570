import type { DataSource } from 'typeorm';

/** A turn that may run, and the small facts that its workflow carries. */
export interface ClaimedTurn {
  modelId: string;
  mcpServers: number;
  /** Milliseconds since the turn first began to run. */
  runningMs: number;
}

/**
 * Claims a turn for running: queued → running; already running → go on (a retry, a replay, a reset); ended → null.
 * What excludes a double start is workflow id = turn id.
 */
export async function claimTurn(db: DataSource, turnId: string): Promise<ClaimedTurn | null> {
  const [[row]]: [{ model_id: string; mcp_servers: number; running_ms: number }[]] = await db.query(
    `UPDATE turns SET
       state = 'running',
       started_at = coalesce(turns.started_at, clock_timestamp()),
       transition_at = CASE WHEN state = 'queued' THEN clock_timestamp() ELSE transition_at END,
       progress_at = clock_timestamp()
     FROM sessions WHERE turns.id = $1 AND state IN ('queued', 'running') AND sessions.id = turns.session_id
     RETURNING model_id, cardinality(mcp_servers) AS mcp_servers,
       (extract(epoch FROM clock_timestamp() - coalesce(turns.started_at, clock_timestamp())) * 1000)::integer AS running_ms`,
    [turnId],
  );
  return row === undefined
    ? null
    : { modelId: row.model_id, mcpServers: row.mcp_servers, runningMs: Math.max(0, row.running_ms) };
}

import type { Db } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import type { CallableAgent } from '../steps/context.js';

/** An agent as a call finds it. */
export interface CalledAgent {
  agentId: string;
  name: string;
  version: number;
  /** Its model, then those that it falls back to. */
  modelIds: string[];
}

/** The version of an agent that a call gets; null if the agent was deleted. */
export async function findCalledAgent(
  db: Db,
  projectId: string,
  { id, version }: Pick<CallableAgent, 'id' | 'version'>,
): Promise<CalledAgent | null> {
  const [row] = await runSql<CalledAgent>(
    db,
    sql`SELECT a.id AS "agentId", a.name, v.version,
          array_prepend(c.model_id, c.fallback_model_ids) AS "modelIds"
        FROM agents a JOIN agent_versions v ON v.agent_id = a.id AND v.version = coalesce(${version}::integer, a.live_version)
          JOIN configurations c ON c.id = a.id || '@' || v.version
        WHERE a.id = ${id} AND a.project_id = ${projectId} AND a.deleted_at IS NULL`,
  );
  return row ?? null;
}

/** The agents that a turn may call, in the order of the entries of its tools; those that were deleted are left out. */
export function findCallableAgents(db: Db, turnId: string): Promise<CallableAgent[]> {
  return runSql<CallableAgent>(
    db,
    sql`SELECT a.id, asked.version, a.name, v.description,
          entry->'permission_policy' AS policy
        FROM turns t JOIN configurations c ON c.id = t.configuration_id
          CROSS JOIN LATERAL json_array_elements(c.tools) WITH ORDINALITY AS tool (entry, n)
          CROSS JOIN LATERAL (
            SELECT CASE WHEN json_typeof(entry->'version') = 'number' THEN (entry->>'version')::integer END AS version) AS asked
          JOIN agents a ON a.id = entry->>'agent_id' AND a.project_id = t.project_id AND a.deleted_at IS NULL
          JOIN agent_versions v ON v.agent_id = a.id AND v.version = coalesce(asked.version, a.live_version)
        WHERE t.id = ${turnId} AND entry->>'type' = 'agent' ORDER BY n`,
  );
}

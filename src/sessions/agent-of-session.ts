import type { Tx } from '../db/db.js';
import type { Overrides, SessionRow } from '../db/entities/sessions.js';
import { runSql, sql } from '../db/sql.js';
import { write } from '../db/transaction.js';

/** Which version of an agent a session has. */
export interface AgentOfSession {
  agentId: string;
  /** Null: the one that is live when a turn begins. */
  version: number | null;
  overrides: Overrides;
  /** The version of now has a workspace. */
  hasWorkspace: boolean;
}

/** The same in place of another one, with the currency of its models. */
export type NewAgentOfSession = AgentOfSession & { currency: string | null };

/** The id of the configuration of an agent's version. */
export function configurationIdOf(agentId: string, version: number): string {
  return `${agentId}@${version}`;
}

type ReferenceColumns = Pick<SessionRow, 'configuration_id' | 'agent_id' | 'agent_version' | 'overrides_number'>;

/** @param number of its overrides, if it has any */
export function referenceColumns(
  { agentId, version, overrides }: Omit<AgentOfSession, 'hasWorkspace'>,
  number: number,
): ReferenceColumns {
  return {
    configuration_id: version === null ? null : configurationIdOf(agentId, version),
    agent_id: agentId,
    agent_version: version,
    overrides_number: hasFields(overrides) ? number : null,
  };
}

function hasFields(overrides: Overrides): boolean {
  return Object.keys(overrides).length > 0;
}

const INSERT_OVERRIDES = 'INSERT INTO session_overrides (session_id, number, overrides) VALUES ($1, $2, $3)';

/** Stores overrides that have fields. */
export function insertOverrides(tx: Tx, sessionId: string, number: number, overrides: Overrides): void {
  if (hasFields(overrides)) write(tx, INSERT_OVERRIDES, [sessionId, number, JSON.stringify(overrides)]);
}

const REPLACE_AGENT = `
  UPDATE sessions SET configuration_id = $2, agent_id = $3, agent_version = $4, overrides_number = $5,
    currency = coalesce(currency, $6)
  WHERE id = $1`;

/**
 * Gives a locked session another agent or version. Overrides that a turn has stay. The last one has the newest that any turn has.
 * Returns by how many bytes the rows grow.
 */
export async function replaceAgent(tx: Tx, id: string, { currency, ...agent }: NewAgentOfSession): Promise<number> {
  const [last] = await runSql<{ number: number; used: number; bytes: number }>(
    tx,
    sql`SELECT coalesce(max(o.number), 0) AS number, coalesce(max(t.overrides_number), 0) AS used,
          coalesce(sum(octet_length(o.overrides::text)) FILTER (WHERE o.number > coalesce(t.overrides_number, 0)), 0)::integer AS bytes
        FROM sessions s LEFT JOIN turns t ON t.id = s.last_turn_id LEFT JOIN session_overrides o ON o.session_id = s.id
        WHERE s.id = ${id}`,
  );
  const { number, used, bytes } = last!;
  write(tx, 'DELETE FROM session_overrides WHERE session_id = $1 AND number > $2', [id, used]);
  insertOverrides(tx, id, number + 1, agent.overrides);
  const columns = referenceColumns(agent, number + 1);
  write(tx, REPLACE_AGENT, [
    ...[id, columns.configuration_id, columns.agent_id, columns.agent_version, columns.overrides_number, currency],
  ]);
  return (hasFields(agent.overrides) ? Buffer.byteLength(JSON.stringify(agent.overrides)) : 0) - bytes;
}

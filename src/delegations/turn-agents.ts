import type { Tx } from '../db/db.js';
import { write } from '../db/transaction.js';
import type { CallableAgent } from '../steps/context.js';

const INSERT = `
  INSERT INTO turn_agents (turn_id, index, agent_id, version, name, description, permission_policy)
  SELECT $1, n - 1, id, version, name, description, permission_policy
  FROM unnest($2::text[], $3::integer[], $4::text[], $5::text[], $6::json[])
    WITH ORDINALITY AS agent (id, version, name, description, permission_policy, n)
  ON CONFLICT DO NOTHING`;

/** Records the agents that a turn may call, in their order. */
export function insertTurnAgents(tx: Tx, turnId: string, agents: CallableAgent[]): void {
  if (agents.length === 0) return;
  write(tx, INSERT, [
    ...[turnId, agents.map(({ id }) => id), agents.map(({ version }) => version), agents.map(({ name }) => name)],
    ...[
      agents.map(({ description }) => description),
      agents.map(({ policy }) => (policy === null ? null : JSON.stringify(policy))),
    ],
  ]);
}

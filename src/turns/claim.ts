import { rawSql } from '../db/sql.js';
import { runningMs } from './totals.js';
import { TurnEndedError } from './turn.js';
import { writeTurn, type TurnDeps } from './write.js';

/** A turn that may run, with the facts that its first activity needs. */
interface ClaimedTurn {
  project_id: string;
  model_id: string;
  /** Ids of the session's MCP servers. */
  mcp_servers: string[];
  /** True once the turn has connected them. */
  is_connected: boolean;
  /** Milliseconds that the turn has run so far. */
  running_ms: number;
}

const FACTS = rawSql(
  `SELECT turns.project_id, model_id, mcp_servers, connected_at IS NOT NULL AS is_connected,
     ${runningMs('turns')} AS running_ms
   FROM turn JOIN turns ON turns.id = turn.id JOIN sessions ON sessions.id = turn.session_id`,
);

/**
 * Claims a turn for running: queued → running. A running turn stays as it is (a retry, a replay, a reset). The workflow
 * id is the turn id, so only one workflow runs a turn.
 * @throws TurnEndedError
 */
export async function claimTurn(deps: TurnDeps, turnId: string): Promise<ClaimedTurn> {
  const { guard } = await writeTurn<ClaimedTurn | null>(deps, turnId, { from: 'open' }, { claim: true, guard: FACTS });
  if (guard === null) throw new TurnEndedError(turnId);
  return guard;
}

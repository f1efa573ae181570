import { changeTurn, ifOpen, type TurnDeps } from './change-turn.js';

interface Claimed {
  projectId: string;
  sessionId: string;
  serverIds: string[];
  /** Those that may ask the person. */
  askingServerIds: string[];
  /** The session acts for a user. */
  hasUser: boolean;
  /** True once the turn has connected them. */
  isConnected: boolean;
}

const SERVERS = `
  SELECT mcp_servers AS "serverIds", end_user IS NOT NULL AS "hasUser",
    ARRAY(SELECT entry->>'mcp_server_id' FROM json_array_elements(tools) AS entry
      WHERE entry->>'type' = 'mcp_toolset' AND entry->>'elicitation' = 'true') AS "askingServerIds"
  FROM sessions WHERE id = $1`;

/**
 * Claims a turn for running: queued → running. A running turn stays as it is (a retry, a replay, a reset). The workflow
 * id is the turn id, so only one workflow runs a turn.
 * @throws TurnEndedError
 */
export function claimTurn(deps: TurnDeps, turnId: string): Promise<Claimed> {
  return changeTurn(deps, turnId, ifOpen, async (turn, tx) => {
    turn.claim();
    const { projectId, sessionId, isConnected } = turn;
    const [servers] = await tx.query<[Pick<Claimed, 'serverIds' | 'askingServerIds' | 'hasUser'>]>(SERVERS, [
      sessionId,
    ]);
    return { projectId, sessionId, isConnected, ...servers };
  });
}

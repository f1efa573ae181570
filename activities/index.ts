import { beginTurn } from './begin-turn.js';
import { callModel } from './call-model.js';
import { callTool } from './call-tool.js';
import { compactContext } from './compact-context.js';
import { connectMcpServers } from './connect-mcp-servers.js';
import type { ActivityDeps } from './deps.js';
import { finishTurn } from './finish-turn.js';
import type { TurnActivities } from './turn-activities.js';

/** Everything a workflow can do. */
export function createActivities(deps: ActivityDeps): TurnActivities {
  return {
    beginTurn: beginTurn(deps),
    connectMcpServers: connectMcpServers(deps),
    callModel: callModel(deps),
    compactContext: compactContext(deps),
    callTool: callTool(deps),
    finishTurn: finishTurn(deps),
  };
}

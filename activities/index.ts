import { advanceWait } from './turn/advance-wait.js';
import { callModel } from './turn/call-model.js';
import { callTool } from './turn/call-tool.js';
import { compactContext } from './turn/compact.js';
import { connectMcpServers } from './turn/connect.js';
import type { ActivityDeps } from './deps.js';
import { finishTurn } from './turn/finish.js';
import type { TurnActivities } from './turn/turn-activities.js';

export function createActivities(deps: ActivityDeps): TurnActivities {
  return {
    connectMcpServers: connectMcpServers(deps),
    callModel: callModel(deps),
    compactContext: compactContext(deps),
    callTool: callTool(deps),
    advanceWait: advanceWait(deps),
    finishTurn: finishTurn(deps),
  };
}

import { FairQueue } from '../src/platform/fair-queue.js';
import { openCommandPlaces } from './command-places.js';
import { advanceStep } from './turn/advance.js';
import { callModel } from './turn/call-model.js';
import { toolSources } from './tools/sources.js';
import { callTool } from './turn/call-tool.js';
import { compactContext } from './turn/compact.js';
import { connectMcpServers } from './turn/connect.js';
import type { ActivityDeps } from './deps.js';
import { openPollPlaces } from './tools/mcp/tasks/places.js';
import { cancelTasks } from './tools/mcp/tasks/cancel.js';
import { pollTasks as pollServerTasks } from './tools/mcp/tasks/poll.js';
import { finishTurn } from './turn/finish.js';
import { pollTasks } from './turn/poll.js';
import type { TurnActivities } from './turn/turn-activities.js';

/** Shares of a worker's slots for the tool calls of one project and of all projects. The rest is for model calls. */
const PROJECT_SHARE = 0.5;
const TOOLS_SHARE = 0.7;
/** For polls of tasks, beside those of tools. */
const POLLS_SHARE = 0.1;

export function createActivities(parts: Omit<ActivityDeps, 'toolSources'>): TurnActivities {
  const slots = (share: number): number => Math.max(1, Math.floor(parts.config.workerMaxActivities * share));
  const toolPlaces = new FairQueue({ perProject: slots(PROJECT_SHARE), total: slots(TOOLS_SHARE) });
  const pollPlaces = openPollPlaces(slots(POLLS_SHARE));
  const commandPlaces = openCommandPlaces(parts.config.sandboxMaxCommands, parts.activitySlots);
  const deps: ActivityDeps = { ...parts, toolSources: toolSources(parts, commandPlaces) };
  return {
    connectMcpServers: connectMcpServers(deps),
    callModel: callModel(deps),
    compactContext: compactContext(deps),
    callTool: callTool(deps, toolPlaces),
    pollTasks: pollTasks(deps, (calls, signal) =>
      pollServerTasks(deps, { polls: pollPlaces, results: toolPlaces }, calls, signal),
    ),
    cancelTasks: cancelTasks(deps, pollPlaces),
    advanceStep: advanceStep(deps),
    finishTurn: finishTurn(deps),
  };
}

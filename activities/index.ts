import { ConcurrencyLimit } from './concurrency-limit.js';
import { advanceBudget, advanceWait } from './turn/advance.js';
import { callModel } from './turn/call-model.js';
import { toolSources } from './tools/sources.js';
import type { CommandPlaces } from './tools/built-in/workspace/kind.js';
import { callTool } from './turn/call-tool.js';
import { compactContext } from './turn/compact.js';
import { connectMcpServers } from './turn/connect.js';
import type { ActivityDeps } from './deps.js';
import { cancelTasks } from './turn/cancel-tasks.js';
import { finishTurn } from './turn/finish.js';
import { pollTask } from './turn/poll-task.js';
import { pollTasks } from './turn/poll-tasks.js';
import { PollSlots } from './turn/poll-slots.js';
import type { TurnActivities } from './turn/turn-activities.js';

/** Shares of a worker's slots for the tool calls of one project and of all projects. The rest is for model calls. */
const PROJECT_SHARE = 0.5;
const TOOLS_SHARE = 0.7;
/** For polls of tasks, beside those of tools. */
const POLLS_SHARE = 0.1;

export function createActivities(parts: Omit<ActivityDeps, 'toolSources'>): TurnActivities {
  const slots = (share: number): number => Math.max(1, Math.floor(parts.config.workerMaxActivities * share));
  const toolLimit = new ConcurrencyLimit({ perProject: slots(PROJECT_SHARE), total: slots(TOOLS_SHARE) });
  const pollSlots = new PollSlots(slots(POLLS_SHARE));
  const { commandSlots, activitySlots } = parts;
  const places: CommandPlaces = {
    within: ({ turn, signal, rest }, work) =>
      commandSlots.within(turn.projectId, { signal, activitySlots, rest }, work),
  };
  const deps: ActivityDeps = { ...parts, toolSources: toolSources(parts, places) };
  return {
    connectMcpServers: connectMcpServers(deps),
    callModel: callModel(deps),
    compactContext: compactContext(deps),
    callTool: callTool(deps, toolLimit),
    pollTask: pollTask(deps, pollSlots, toolLimit),
    pollTasks: pollTasks(deps, pollSlots),
    cancelTasks: cancelTasks(deps, pollSlots),
    advanceWait: advanceWait(deps),
    advanceBudget: advanceBudget(deps),
    finishTurn: finishTurn(deps),
  };
}

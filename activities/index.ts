import { ConcurrencyLimit } from './concurrency-limit.js';
import { advanceBudget, advanceWait } from './turn/advance.js';
import { callModel } from './turn/call-model.js';
import { createFindKind } from './tools/kind-of.js';
import type { CommandPlaces } from './tools/built-in/workspace/kind.js';
import { callTool } from './turn/call-tool.js';
import { deferralLimits } from './turn/deferral-limits.js';
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

export function createActivities(deps: ActivityDeps): TurnActivities {
  const slots = (share: number): number => Math.max(1, Math.floor(deps.config.workerMaxActivities * share));
  const toolLimit = new ConcurrencyLimit({ perProject: slots(PROJECT_SHARE), total: slots(TOOLS_SHARE) });
  const pollSlots = new PollSlots(slots(POLLS_SHARE));
  const { commandSlots, activitySlots } = deps;
  const places: CommandPlaces = {
    within: ({ turn, signal, rest }, work) =>
      commandSlots.within(turn.projectId, { signal, activitySlots, rest }, work),
  };
  const kindOf = createFindKind(deps, places, (turn) => deferralLimits(deps, turn));
  return {
    connectMcpServers: connectMcpServers(deps),
    callModel: callModel(deps),
    compactContext: compactContext(deps),
    callTool: callTool(deps, toolLimit, kindOf),
    pollTask: pollTask(deps, pollSlots, toolLimit),
    pollTasks: pollTasks(deps, pollSlots),
    cancelTasks: cancelTasks(deps, pollSlots),
    advanceWait: advanceWait(deps),
    advanceBudget: advanceBudget(deps),
    finishTurn: finishTurn(deps),
  };
}

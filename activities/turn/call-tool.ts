import type { ActivityDeps } from '../deps.js';
import { MAX_LOST_WORKERS, runActivity, storeWithRetries, type Attempt } from './run-activity.js';
import type { TurnContext } from '../../src/steps/context.js';
import { TurnEndedError } from '../../src/turns/turn.js';
import { outcomeUnknown, runTool } from '../tools/run-tool.js';
import { ConcurrencyLimit } from '../concurrency-limit.js';
import { runnableTools } from '../tools/offered-tools.js';
import { loadToolCall, startToolCall, type ToolCallRow } from '../../src/steps/tool-call.js';
import { storeToolResult, storeUnrunCall } from '../tools/store-call.js';
import type { ToolResult } from '../tools/tool.js';
import type { TurnActivities } from './turn-activities.js';

/** Shares of a worker's slots for the tool calls of one project and of all projects. The rest is for model calls. */
const PROJECT_SHARE = 0.5;
const TOOLS_SHARE = 0.7;

/**
 * Runs one tool call of a step, at most once: `started` is recorded before the call is sent. A retry that finds `started`
 * without a result does not call again, unless the tool may be repeated (contract.md §3 "Tool calls") and the call has not
 * taken several workers down.
 */
export function callTool(deps: ActivityDeps): TurnActivities['callTool'] {
  const slots = (share: number): number => Math.max(1, Math.floor(deps.config.workerMaxActivities * share));
  const limit = new ConcurrencyLimit({ perProject: slots(PROJECT_SHARE), total: slots(TOOLS_SHARE) });
  return ({ turnId, step, index }) =>
    runActivity(deps, { turn_id: turnId, step, index }, async (signal, { task, lostWorkers }) => {
      const { turn, call } = await loadToolCall(deps.db, turnId, step, index);
      if (call.state === 'done') return;
      if (turn.state !== 'running') throw new TurnEndedError(turnId, turn.state);
      if (call.action !== null && call.action.state !== 'allowed') return storeUnrunCall(deps, call);
      await limit.within(turn.projectId, async () => {
        const result = await resultOf(deps, turn, call, { task, lostWorkers }, signal);
        await storeWithRetries(() => storeToolResult(deps, call, result), signal);
      });
    });
}

async function resultOf(
  deps: ActivityDeps,
  turn: TurnContext,
  call: ToolCallRow,
  { task, lostWorkers }: Attempt,
  signal: AbortSignal,
): Promise<ToolResult> {
  const tool = runnableTools(turn).find(({ tool: { name } }) => name === call.name);
  const mayRepeat = tool?.repeatable === true && lostWorkers < MAX_LOST_WORKERS;
  if (call.state === 'started' && !mayRepeat) return outcomeUnknown(call.name);
  await storeWithRetries(() => startToolCall(deps, call, task), signal);
  return runTool(deps, turn, call, tool, signal);
}

import type { ActivityDeps } from '../deps.js';
import { MAX_LOST_WORKERS, runActivity, storeWithRetries, type Attempt } from './run-activity.js';
import type { TurnContext } from '../../src/steps/context.js';
import { TurnEndedError } from '../../src/turns/turn.js';
import { outcomeUnknown, runTool } from '../tools/run-tool.js';
import type { ConcurrencyLimit } from '../concurrency-limit.js';
import { runnableTools } from '../tools/offered-tools.js';
import { loadToolCall, startToolCall, type ToolCallRow } from '../../src/steps/tool-call.js';
import { storeToolResult, storeUnrunCall } from '../tools/store-call.js';
import { keepTask } from '../tools/mcp/keep-task.js';
import type { TurnActivities } from './turn-activities.js';

/**
 * Runs one tool call of a step, at most once: `started` is recorded before the call is sent. A retry that finds `started`
 * without a result does not call again, unless the tool may be repeated (contract.md §3 "Tool calls") and the call has not
 * taken several workers down.
 */
export function callTool(deps: ActivityDeps, limit: ConcurrencyLimit): TurnActivities['callTool'] {
  return ({ turnId, step, index }) =>
    runActivity(deps, { turn_id: turnId, step, index }, async (signal, { task, lostWorkers }) => {
      const { turn, call } = await loadToolCall(deps.db, turnId, step, index);
      if (call.state === 'done') return;
      const openTask = { kind: 'task', longWaitMs: deps.config.longWaitSeconds * 1000 } as const;
      if (call.state === 'task') return openTask;
      if (turn.state !== 'running') throw new TurnEndedError(turnId, turn.state);
      if (call.action !== null && call.action.state !== 'allowed') {
        await storeUnrunCall(deps, call);
        return;
      }
      return limit.within(turn.projectId, async () => {
        const run = (): ReturnType<typeof resultOf> => resultOf(deps, turn, call, { task, lostWorkers }, signal);
        const result = await deps.slots.within(signal, run);
        if ('task' in result) {
          await keepTask(deps, turn, call, result.task, task, (store) => storeWithRetries(store, signal));
          return openTask;
        }
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
): ReturnType<typeof runTool> {
  const tool = runnableTools(turn).find(({ tool: { name } }) => name === call.name);
  const mayRepeat = tool?.repeatable === true && lostWorkers < MAX_LOST_WORKERS;
  if (call.state === 'started' && !mayRepeat) return outcomeUnknown(call.name);
  await storeWithRetries(() => startToolCall(deps, call, task), signal);
  return runTool(deps, turn, call, tool, signal);
}

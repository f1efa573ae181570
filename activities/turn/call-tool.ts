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
import { closeElicitations } from '../../src/answers/elicitation.js';
import { loadRunningMs } from '../../src/turns/totals.js';
import { remainingMs } from './remaining.js';
import { askPerson } from './ask-person.js';
import { TurnClock } from './turn-clock.js';
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
        const loadRemaining = async (): Promise<number> => remainingMs(deps, await loadRunningMs(deps.db, turnId));
        const clock = call.mayAsk ? new TurnClock(await loadRemaining()) : null;
        const run = (): ReturnType<typeof resultOf> => resultOf(deps, turn, call, { task, lostWorkers }, signal, clock);
        const result = await deps.slots.within(signal, run).finally(() => clock?.stop());
        if (call.mayAsk) await storeWithRetries(() => closeElicitations(deps, turnId, call, 'withdrawn'), signal);
        if ('task' in result) {
          await keepTask(deps, turn, call, result.task, task, (store) => storeWithRetries(store, signal));
          return openTask;
        }
        await storeWithRetries(() => storeToolResult(deps, call, result), signal);
        return clock === null ? undefined : { kind: 'done' as const, remainingMs: await loadRemaining() };
      });
    });
}

async function resultOf(
  deps: ActivityDeps,
  turn: TurnContext,
  call: ToolCallRow,
  { task, lostWorkers }: Attempt,
  signal: AbortSignal,
  clock: TurnClock | null,
): ReturnType<typeof runTool> {
  const tool = runnableTools(turn).find(({ tool: { name } }) => name === call.name);
  const mayRepeat = tool?.repeatable === true && lostWorkers < MAX_LOST_WORKERS;
  if (call.state === 'started' && call.mayAsk) {
    await storeWithRetries(() => closeElicitations(deps, call.turnId, call, 'lost'), signal);
  }
  if (call.state === 'started' && !mayRepeat) return outcomeUnknown(call.name);
  await storeWithRetries(() => startToolCall(deps, call, task), signal);
  if (clock === null) return runTool(deps, turn, call, tool, signal);
  const bounded = AbortSignal.any([signal, clock.signal]);
  const holdBoth = (hold: () => () => void) => (): (() => void) => {
    const releases = [hold(), clock.hold()];
    return () => releases.forEach((release) => release());
  };
  return runTool(deps, turn, call, tool, bounded, (hold) =>
    askPerson(deps, call, turn.toolsets, holdBoth(hold), bounded),
  );
}

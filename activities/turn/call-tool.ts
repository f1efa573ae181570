import type { ActivityDeps } from '../deps.js';
import { MAX_LOST_WORKERS, runActivity, storeWithRetries, type Attempt } from './run-activity.js';
import type { TurnContext } from '../../src/steps/context.js';
import { TurnEndedError } from '../../src/turns/errors.js';
import { notAuthorized, outcomeUnknown, restarted, runTool } from '../tools/run-tool.js';
import { CallPlaces } from '../call-places.js';
import type { ConcurrencyLimit } from '../concurrency-limit.js';
import { runnableTools, type RunnableTool } from '../tools/offered-tools.js';
import { deferralLimits } from './deferral-limits.js';
import { loadToolCall, startToolCall, type ToolCallRow } from '../../src/steps/tool-call.js';
import { storeToolResult, storeUnrunCall } from '../tools/store-call.js';
import { keepTask } from '../tools/mcp/keep-task.js';
import { findTurnServers } from '../../src/mcp/user-credentials.js';
import { planAuthorization } from '../../src/answers/authorization-wait.js';
import { closeElicitations } from '../../src/answers/elicitation.js';
import { loadRunningMs } from '../../src/turns/running-time.js';
import { remainingMs } from './remaining.js';
import { askPerson } from './ask-person.js';
import { CallWait } from './call-wait.js';
import { TurnClock } from './turn-clock.js';
import type { TurnActivities } from './turn-activities.js';

/** For the last statements of a call after the grace of its worker; the worker ends 3 s after it. */
const LAST_STORE_MS = 2000;

/**
 * Runs one tool call of a step, at most once: `started` is recorded before the call is sent. A retry that finds `started`
 * without a result does not call again, unless the tool may be repeated (contract.md §3 "Tool calls") and the call has not
 * taken several workers down.
 */
export function callTool(deps: ActivityDeps, limit: ConcurrencyLimit): TurnActivities['callTool'] {
  return ({ turnId, step, index, mayWait = false }) =>
    runActivity(deps, { turn_id: turnId, step, index }, async (signal, attempt) => {
      const { turn, call } = await loadToolCall(deps.db, turnId, step, index);
      if (call.state === 'done') return;
      const openTask = () => ({ kind: 'task', ...serverOf(deps, turn, call) }) as const;
      if (call.state === 'task') return openTask();
      if (turn.state !== 'running') throw new TurnEndedError(turnId, turn.state);
      if (call.action !== null && call.action.state !== 'allowed') {
        await storeUnrunCall(deps, call);
        return;
      }
      if (call.authorization?.state === 'denied' || call.authorization?.state === 'expired') {
        await storeUnrunCall(deps, call);
        return;
      }
      const serverId = await unauthorizedServer(deps, turn, call);
      if (serverId !== null) {
        if (mayWait) return waitForAuthorization(deps, { ...call, state: 'pending' }, serverId);
        // Its workflow was started by a build that does not know this wait.
        await storeWithRetries(() => startToolCall(deps, call, attempt.task), signal);
        await storeWithRetries(
          () => storeToolResult(deps, { ...call, state: 'started' }, notAuthorized(call.name)),
          signal,
        );
        return;
      }
      return withPlaces(deps, limit, turn.projectId, signal, async (places) => {
        const loadRemaining = async (): Promise<number> => remainingMs(deps, await loadRunningMs(deps.db, turnId));
        const clock = call.mayAsk ? new TurnClock(await loadRemaining()) : null;
        const store = <T>(work: () => Promise<T>): Promise<T> => storeWithRetries(work, signal);
        const stored = await resultOf(deps, turn, call, attempt, signal, clock, places)
          .catch((error: unknown) => endedByRestart(deps, call, attempt, error))
          .finally(() => clock?.stop());
        if (stored !== 'stored' && 'unauthorized' in stored) {
          if (call.mayAsk) await store(() => closeElicitations(deps, turnId, call, 'withdrawn'));
          if (mayWait)
            return store(() => waitForAuthorization(deps, { ...call, state: 'started' }, stored.unauthorized));
          await store(() => storeToolResult(deps, call, notAuthorized(call.name)));
        } else if (stored !== 'stored') {
          if (call.mayAsk) await store(() => closeElicitations(deps, turnId, call, 'withdrawn'));
          if ('task' in stored) {
            await keepTask(deps, call, stored.task, attempt.task, store);
            return openTask();
          }
          await store(() => storeToolResult(deps, call, stored));
        }
        return clock === null ? undefined : { kind: 'done' as const, remainingMs: await loadRemaining() };
      });
    });
}

/** The server of a call that the session's user has to authorize first; null if the call may run. */
async function unauthorizedServer(deps: ActivityDeps, turn: TurnContext, call: ToolCallRow): Promise<string | null> {
  if (call.state !== 'pending' || !turn.servers.some(({ asUser }) => asUser)) return null;
  const { serverId } = serverOf(deps, turn, call);
  if (!turn.servers.some(({ id, asUser }) => id === serverId && asUser)) return null;
  const [server] = await findTurnServers(deps.db, turn.id, [serverId!]);
  return server?.user_credential === null ? server.id : null;
}

async function waitForAuthorization(
  deps: ActivityDeps,
  call: ToolCallRow & { state: 'pending' | 'started' },
  serverId: string,
): Promise<{ kind: 'authorization' }> {
  await planAuthorization(deps, call, serverId);
  return { kind: 'authorization' };
}

/** Runs a call in a place of its project's tools and of the worker. */
async function withPlaces<T>(
  { slots, activitySlots }: ActivityDeps,
  limit: ConcurrencyLimit,
  projectId: string,
  signal: AbortSignal,
  work: (places: CallPlaces) => Promise<T>,
): Promise<T> {
  limit.begin(projectId);
  await slots.places.take(projectId, signal).catch((error: unknown) => {
    limit.places.free(projectId);
    throw error;
  });
  const places = new CallPlaces(projectId, { queues: [limit.places, slots.places], activitySlots });
  try {
    return await work(places);
  } finally {
    places.close();
  }
}

/**
 * Stores the result of a call that waited for a person when the grace of its worker ended: here it is known that a restart
 * ended it. Any other error is thrown.
 */
async function endedByRestart(
  deps: ActivityDeps,
  call: ToolCallRow,
  { isWorkerStopping }: Attempt,
  error: unknown,
): Promise<'stored'> {
  if (!call.mayAsk || !isWorkerStopping()) throw error;
  const store = <T>(work: () => Promise<T>): Promise<T> => storeWithRetries(work, AbortSignal.timeout(LAST_STORE_MS));
  if ((await store(() => closeElicitations(deps, call.turnId, call, 'lost'))) === 0) throw error;
  await store(() => storeToolResult(deps, call, restarted(call.name)));
  return 'stored';
}

function findTool(deps: ActivityDeps, turn: TurnContext, call: ToolCallRow): RunnableTool | undefined {
  return runnableTools(turn, deferralLimits(deps, turn)).runnable.find(({ tool: { name } }) => name === call.name);
}

function serverOf(deps: ActivityDeps, turn: TurnContext, call: ToolCallRow): { serverId?: string } {
  const found = findTool(deps, turn, call);
  return found?.kind === 'mcp' ? { serverId: found.tool.serverId } : {};
}

async function resultOf(
  deps: ActivityDeps,
  turn: TurnContext,
  call: ToolCallRow,
  { task, lostWorkers, rest }: Attempt,
  signal: AbortSignal,
  clock: TurnClock | null,
  places: CallPlaces,
): ReturnType<typeof runTool> {
  const tool = findTool(deps, turn, call);
  const mayRepeat = tool?.repeatable === true && lostWorkers < MAX_LOST_WORKERS;
  if (call.state === 'started' && call.mayAsk) {
    await storeWithRetries(() => closeElicitations(deps, call.turnId, call, 'lost'), signal);
  }
  if (call.state === 'started' && !mayRepeat) return outcomeUnknown(call.name);
  await storeWithRetries(() => startToolCall(deps, call, task), signal);
  if (clock === null) return runTool(deps, turn, call, tool, signal);
  const bounded = AbortSignal.any([signal, clock.signal]);
  return runTool(deps, turn, call, tool, bounded, (hold) => {
    const holdAll = (): (() => void) => {
      const releases = [hold(), clock.hold(), rest()];
      return () => releases.forEach((release) => release());
    };
    const wait = new CallWait(deps, { ...call, projectId: turn.projectId }, places, holdAll);
    return askPerson(deps, call, turn.toolsets, wait, bounded);
  });
}

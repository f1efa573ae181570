import type { ActivityDeps } from '../deps.js';
import { withCallSlots, type CallSlots } from '../call-slots.js';
import type { FairQueue } from '../../src/platform/fair-queue.js';
import { MAX_LOST_WORKERS } from '../../src/steps/lost-workers.js';
import { storeWithRetries } from '../../src/steps/store-with-retries.js';
import {
  loadToolCall,
  startToolCall,
  storeToolResult,
  storeUnrunCall,
  type ToolResult,
} from '../../src/steps/tool-call.js';
import { TurnEndedError } from '../../src/turns/errors.js';
import { loadRunningMs } from '../../src/turns/running-time.js';
import { unrunResult } from '../../src/waits/unrun-result.js';
import { restarted } from '../tools/outcomes.js';
import { runTool } from '../tools/run-tool.js';
import type { CallRun, Pause, Suspension, ToolKind } from '../tools/tool-kind.js';
import { kindOfCall } from '../tools/turn-tools.js';
import { definitionLimits } from './definition-limits.js';
import { runActivity, type Attempt } from './run-activity.js';
import type { TurnActivities } from './turn-activities.js';
import { remainingMs, TurnClock } from './turn-clock.js';

/** For the last statements of a call after the grace of its worker; the worker ends 3 s after it. */
const LAST_STORE_MS = 2000;

interface Run extends CallRun {
  kind: ToolKind;
  attempt: Attempt;
}

type Outcome = Awaited<ReturnType<TurnActivities['callTool']>>;

/**
 * Runs one tool call of a step, at most once: `started` is recorded before the call is sent. A retry that finds `started`
 * without a result does not call again, unless the tool may be repeated (decisions.md "Turns and events", "Tool calls") and the call has not
 * taken several workers down. What only some calls need is in their kind (activities/tools/tool-kind.ts).
 */
export function callTool(deps: ActivityDeps, toolPlaces: FairQueue): TurnActivities['callTool'] {
  return ({ turnId, step, index }) =>
    runActivity(deps, { turn_id: turnId, step, index }, async (signal, attempt) => {
      const { turn, call } = await loadToolCall(deps.db, turnId, step, index);
      if (call.state === 'done') return;
      const kind = kindOfCall(deps.toolSources, turn, call, definitionLimits(deps, turn));
      // The tools of a turn do not change: that of a call which has become a task is still there.
      if (call.state === 'task') return kind.suspended!();
      if (turn.state !== 'running') throw new TurnEndedError(turnId, turn.state);
      if (call.wait?.outcome === null) return { kind: 'waits' };
      const unrun = call.wait && unrunResult(call.wait);
      if (unrun !== null) return storeUnrunCall(deps, call, unrun).then(() => undefined);
      const run: Run = { turn, call, kind, attempt, signal, beatSlowly: attempt.beatSlowly };
      const waits = await kind.prepare?.(run);
      if (waits != null) return store(deps, run, waits);
      const callInSlots = (): Promise<Outcome> =>
        withCallSlots(deps, toolPlaces, turn.projectId, signal, (slots) => makeCall(deps, run, slots));
      return kind.within === undefined ? callInSlots() : kind.within(run, callInSlots);
    });
}

/**
 * Makes the call and stores what it came to. In a turn whose calls may ask a person, the activity itself watches the turn's time,
 * which does not run while they wait, and returns what is left of it.
 */
async function makeCall(deps: ActivityDeps, run: Run, slots: CallSlots): Promise<Outcome> {
  const { turn, call, signal } = run;
  if (!call.mayAsk) return store(deps, run, await startAndRun(deps, run, NO_PAUSE));
  const loadRemaining = async (): Promise<number> => remainingMs(deps, await loadRunningMs(deps.db, turn.id));
  const clock = new TurnClock(await loadRemaining());
  const bounded = { ...run, signal: AbortSignal.any([signal, clock.signal]) };
  const result = await startAndRun(deps, bounded, pauseOf(run, slots, clock))
    .catch((error: unknown) => endedByRestart(deps, run, error))
    .finally(() => clock.stop());
  if (result !== 'stored') {
    await storeWithRetries(() => closeQuestions(run, 'withdrawn'), signal);
    const open = await store(deps, run, result);
    if (open !== undefined) return open;
  }
  return { kind: 'done', remainingMs: await loadRemaining() };
}

const NO_PAUSE: Pause = { begin: () => () => Promise.resolve() };

/** While a call waits for a person it holds no slot, the turn's clock does not run, and heartbeats are rare. */
function pauseOf({ beatSlowly }: Run, slots: CallSlots, clock: TurnClock): Pause {
  return {
    begin: () => {
      const releases = [clock.hold(), beatSlowly()];
      slots.pause();
      return (signal) => slots.resume(signal).finally(() => releases.forEach((release) => release()));
    },
  };
}

/** Records the start of the call and makes it, unless an earlier attempt has sent it and it must not be sent again. */
async function startAndRun(deps: ActivityDeps, run: Run, pause: Pause): Promise<ToolResult | Suspension> {
  const { call, kind, attempt, signal } = run;
  if (call.state === 'started') {
    if (call.mayAsk) await storeWithRetries(() => closeQuestions(run, 'lost'), signal);
    if (!kind.repeatable || attempt.lostWorkers >= MAX_LOST_WORKERS) return kind.notRepeated();
    kind.beforeRepeat?.(run);
  }
  await storeWithRetries(() => startToolCall(deps, call, attempt.id), signal);
  return runTool(kind, run, pause, deps.config.toolTimeoutSeconds);
}

/** Stores what the call came to. Returns what it waits for, if it has no result yet. */
async function store(deps: ActivityDeps, run: Run, result: ToolResult | Suspension): Promise<Outcome> {
  const { call, attempt, signal } = run;
  const retry = <T>(work: () => Promise<T>): Promise<T> => storeWithRetries(work, signal);
  if ('suspended' in result) {
    await result.store(retry);
    return result.suspended;
  }
  await retry(() => storeToolResult(deps, call, result, attempt.id));
  return undefined;
}

/**
 * Stores the result of a call that waited for a person when the grace of its worker ended: here it is known that a restart
 * ended it. Any other error is thrown.
 */
async function endedByRestart(deps: ActivityDeps, run: Run, error: unknown): Promise<'stored'> {
  if (!run.attempt.isWorkerStopping()) throw error;
  const retry = <T>(work: () => Promise<T>): Promise<T> => storeWithRetries(work, AbortSignal.timeout(LAST_STORE_MS));
  if ((await retry(() => closeQuestions(run, 'lost'))) === 0) throw error;
  await retry(() => storeToolResult(deps, run.call, restarted(run.call.name)));
  return 'stored';
}

async function closeQuestions(run: Run, state: 'lost' | 'withdrawn'): Promise<number> {
  return (await run.kind.closeQuestions?.(run, state)) ?? 0;
}

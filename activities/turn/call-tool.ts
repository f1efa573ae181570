import type { ActivityDeps } from '../deps.js';
import { storeWithRetries } from '../../src/steps/store-with-retries.js';
import { MAX_LOST_WORKERS, runActivity, type Attempt } from './run-activity.js';
import type { TurnContext } from '../../src/steps/context.js';
import { TurnEndedError } from '../../src/turns/errors.js';
import { nothingKept, outcomeUnknown, restarted, runTool } from '../tools/run-tool.js';
import { withCallSlots, type CallSlots } from '../call-slots.js';
import type { ConcurrencyLimit } from '../concurrency-limit.js';
import { runnableTools, runsInSandbox, type RunnableTool } from '../tools/offered-tools.js';
import { deferralLimits } from './deferral-limits.js';
import { workspaceReruns } from '../../src/platform/metrics.js';
import {
  loadToolCall,
  startToolCall,
  storeToolResult,
  storeUnrunCall,
  type ToolCallRow,
  type ToolResult,
} from '../../src/steps/tool-call.js';
import { unrunResult } from '../tools/unrun-result.js';
import { keepTask } from '../tools/mcp/keep-task.js';
import { findTurnServers } from '../../src/mcp/user-credentials.js';
import { planAuthorization } from '../../src/answers/authorization-wait.js';
import { closeElicitations } from '../../src/answers/elicitation.js';
import { loadRunningMs } from '../../src/turns/running-time.js';
import { remainingMs, TurnClock } from './turn-clock.js';
import { askPerson } from '../tools/mcp/ask-person.js';
import { CallWait } from '../tools/mcp/call-wait.js';
import type { TurnActivities } from './turn-activities.js';

/** For the last statements of a call after the grace of its worker; the worker ends 3 s after it. */
const LAST_STORE_MS = 2000;

/** A tool call, and the attempt of the activity that makes it. */
interface Run {
  deps: ActivityDeps;
  turn: TurnContext;
  call: ToolCallRow;
  tool: RunnableTool | undefined;
  attempt: Attempt;
  signal: AbortSignal;
}

type Outcome = Awaited<ReturnType<TurnActivities['callTool']>>;

/**
 * Runs one tool call of a step, at most once: `started` is recorded before the call is sent. A retry that finds `started`
 * without a result does not call again, unless the tool may be repeated (contract.md §3 "Tool calls") and the call has not
 * taken several workers down.
 */
export function callTool(deps: ActivityDeps, limit: ConcurrencyLimit): TurnActivities['callTool'] {
  return ({ turnId, step, index }) =>
    runActivity(deps, { turn_id: turnId, step, index }, async (signal, attempt) => {
      const { turn, call } = await loadToolCall(deps.db, turnId, step, index);
      if (call.state === 'done') return;
      const run: Run = { deps, turn, call, tool: findTool(deps, turn, call), attempt, signal };
      if (call.state === 'task') return taskOf(run);
      if (turn.state !== 'running') throw new TurnEndedError(turnId, turn.state);
      if (mustNotRun(call)) return storeUnrunCall(deps, call, unrunResult(call)).then(() => undefined);
      const serverId = await unauthorizedServer(run);
      if (serverId !== null) {
        await planAuthorization(deps, { ...call, state: 'pending' }, serverId);
        return { kind: 'authorization' };
      }
      const callInSlots = (): Promise<Outcome> =>
        withCallSlots(deps, limit, turn.projectId, signal, (slots) =>
          call.mayAsk ? callAsking(run, slots) : callPlain(run),
        );
      if (!runsInSandbox(turn, call)) return callInSlots();
      const { activitySlots, commandSlots } = deps;
      return commandSlots.within(turn.projectId, { signal, activitySlots, rest: attempt.rest }, callInSlots);
    });
}

/** The call was answered by a client, denied, or has expired. */
function mustNotRun({ action, authorization }: ToolCallRow): boolean {
  if (action !== null && action.state !== 'allowed') return true;
  return authorization?.state === 'denied' || authorization?.state === 'expired';
}

/** Runs a call whose server asks no questions. */
async function callPlain(run: Run): Promise<Outcome> {
  const { deps, turn, call, tool, signal } = run;
  const result = (await mayStart(run)) ? await runTool(deps, turn, call, tool, signal) : notSentAgain(run);
  return storeResult(run, result);
}

/**
 * Runs a call whose server may ask a person. While a question is open, no clock runs and the call holds no slot. Returns
 * what is left of the turn's time.
 */
async function callAsking(run: Run, slots: CallSlots): Promise<Outcome> {
  const { deps, turn, call, signal } = run;
  const loadRemaining = async (): Promise<number> => remainingMs(deps, await loadRunningMs(deps.db, turn.id));
  const clock = new TurnClock(await loadRemaining());
  const result = await runAsking(run, slots, clock)
    .catch((error: unknown) => endedByRestart(run, error))
    .finally(() => clock.stop());
  if (result !== 'stored') {
    await storeWithRetries(() => closeElicitations(deps, turn.id, call, 'withdrawn'), signal);
    const open = await storeResult(run, result);
    if (open !== undefined) return open;
  }
  return { kind: 'done', remainingMs: await loadRemaining() };
}

async function runAsking(run: Run, slots: CallSlots, clock: TurnClock): ReturnType<typeof runTool> {
  const { deps, turn, call, tool, attempt, signal } = run;
  if (call.state === 'started') {
    await storeWithRetries(() => closeElicitations(deps, turn.id, call, 'lost'), signal);
  }
  if (!(await mayStart(run))) return notSentAgain(run);
  const bounded = AbortSignal.any([signal, clock.signal]);
  return runTool(deps, turn, call, tool, bounded, (hold) => {
    const holdAll = (): (() => void) => {
      const releases = [hold(), clock.hold(), attempt.rest()];
      return () => releases.forEach((release) => release());
    };
    const wait = new CallWait(deps, { ...call, projectId: turn.projectId }, slots, holdAll);
    return askPerson(deps, call, turn.toolsets, wait, bounded);
  });
}

/** Records the start of the call. Returns false if an earlier attempt has sent it and it must not be sent again. */
async function mayStart({ deps, turn, call, tool, attempt, signal }: Run): Promise<boolean> {
  const mayRepeat = tool?.repeatable === true && attempt.lostWorkers < MAX_LOST_WORKERS;
  if (call.state === 'started' && !mayRepeat) return false;
  if (call.state === 'started' && attempt.lostWorkers > 0 && runsInSandbox(turn, call)) workspaceReruns.inc();
  await storeWithRetries(() => startToolCall(deps, call, attempt.task), signal);
  return true;
}

/** The result of a call that an earlier attempt has sent. A command leaves nothing: what it changes is stored with its result. */
function notSentAgain({ turn, call }: Run): ToolResult {
  return runsInSandbox(turn, call) ? nothingKept(call.name) : outcomeUnknown(call.name);
}

/** Stores what the call came to. Returns what it waits for, if it has no result yet. */
async function storeResult(run: Run, result: Awaited<ReturnType<typeof runTool>>): Promise<Outcome> {
  const { deps, call, attempt, signal } = run;
  const store = <T>(work: () => Promise<T>): Promise<T> => storeWithRetries(work, signal);
  if ('task' in result) {
    await keepTask(deps, call, result.task, attempt.task, store);
    return taskOf(run);
  }
  if ('unauthorized' in result) {
    await store(() => planAuthorization(deps, { ...call, state: 'started' }, result.unauthorized));
    return { kind: 'authorization' };
  }
  await store(() => storeToolResult(deps, call, result, attempt.task));
  return undefined;
}

/** The server of a call that the session's user has to authorize first; null if the call may run. */
async function unauthorizedServer({ deps, turn, call, tool }: Run): Promise<string | null> {
  if (call.state !== 'pending' || !turn.servers.some(({ asUser }) => asUser)) return null;
  const serverId = serverOf(tool);
  if (!turn.servers.some(({ id, asUser }) => id === serverId && asUser)) return null;
  const [server] = await findTurnServers(deps.db, turn.id, [serverId!]);
  return server?.user_credential === null ? server.id : null;
}

/**
 * Stores the result of a call that waited for a person when the grace of its worker ended: here it is known that a restart
 * ended it. Any other error is thrown.
 */
async function endedByRestart({ deps, call, attempt }: Run, error: unknown): Promise<'stored'> {
  if (!attempt.isWorkerStopping()) throw error;
  const store = <T>(work: () => Promise<T>): Promise<T> => storeWithRetries(work, AbortSignal.timeout(LAST_STORE_MS));
  if ((await store(() => closeElicitations(deps, call.turnId, call, 'lost'))) === 0) throw error;
  await store(() => storeToolResult(deps, call, restarted(call.name)));
  return 'stored';
}

function findTool(deps: ActivityDeps, turn: TurnContext, call: ToolCallRow): RunnableTool | undefined {
  return runnableTools(turn, deferralLimits(deps, turn)).runnable.find(({ tool: { name } }) => name === call.name);
}

function serverOf(tool: RunnableTool | undefined): string | undefined {
  return tool?.kind === 'mcp' ? tool.tool.serverId : undefined;
}

/** The tools of a turn do not change: that of a call which has become a task is still there. */
function taskOf({ tool }: Run): Outcome {
  return { kind: 'task', serverId: serverOf(tool)! };
}

/**
 * Runs the first step of a turn before Temporal asks for it; the turn's activity then joins the step that runs.
 *
 * Why this is safe:
 * - Nothing depends on it. The turn is committed before, its workflow starts beside it, and a step that did not begin, or
 *   whose process dies, is run by the activity as if there were no such step. Tools are started by the workflow alone.
 * - At most one call at a time: a call that runs ahead begins only if the turn has had no call, and an activity begins one
 *   only if none runs ahead on a worker whose lease lives (src/steps/model-call). Both are conditions of the statement that
 *   records the call. If two processes disagree about who lives, the fence of the outcome stores one of them (`callFence`).
 * - The activity is what operators act on: a cancel, pause, reset or termination of it ends the step, also on another
 *   worker. What the step throws after its call began is thrown by the activity.
 * - It takes a slot of the worker, and only while less than half of them are in use: projects that wait for slots are
 *   served by Temporal in turn, as ever. A step of this process keeps its slot until Temporal asks for it, and begins only if
 *   Temporal has asked in time for those before: turns do not run away from their workflows, or past turns that wait.
 *
 * A session with MCP servers must connect them first, which takes longer than all that this saves: its turns do not run ahead.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { closeAheadCall, joinAheadCall, neverJoined } from '../../src/steps/ahead.js';
import { loadTurnModels } from '../../src/steps/model-change.js';
import { channelOfWorker, type AheadNotice } from '../../src/turns/ahead-hints.js';
import { withTrace } from '../../src/platform/tracing.js';
import { LeaseLostError } from '../../src/turns/running-turns.js';
import type { ActivityTask } from '../../src/turns/turn.js';
import type { StartableTurn } from '../../src/temporal/turn-workflows.js';
import type { ActivityDeps, AheadSteps } from '../deps.js';
import { failureOf, isTooLong } from '../model/call-once.js';
import { retryDelay, sooner } from '../model/retry-delay.js';
import { retrySecondsOf } from './fall-back.js';
import { endCancelled, storeWithRetries } from './run-activity.js';
import { runStep } from './run-step.js';
import type { StepResult } from './turn-activities.js';
import { ignored } from '../../src/platform/ignored.js';

/** A call that lasts longer records the activity that waits for it. */
const RECORD_JOIN_AFTER_MS = 250;
/** How often an activity checks the call of another worker, whose notice may be lost. */
const POLL_MS = 1000;
/** Temporal has asked for a step by then, or its start was lost. */
const UNASKED_MS = 5_000;
const MAX_UNASKED = 1000;
/** How long after a step of this process began Temporal asks for it, unless it is behind. */
const MAX_LAG_MS = 250;
/** For Temporal to start them when the worker ends, and for Postgres to close their records. */
const CLOSE_MS = 1000;

interface Step {
  turn: StartableTurn;
  /** This process accepted the message: Temporal's activity comes here. */
  isOwn: boolean;
  stop: AbortController;
  /** Temporal is behind if it has not asked for it by then. Of a cancelled turn it may never ask. */
  dueAt: number;
  hasBegun: boolean;
  /** Temporal has asked for it: it is dropped when it ends. */
  isAsked: boolean;
  /** The other worker whose activity waits for it. */
  waiter: string | null;
  /** Gives its slot back, once. */
  free: () => void;
  endedAt: number | null;
  /** What the step came to; null if the activity has to run it. */
  result: Promise<{ outcome: StepResult } | { error: unknown } | null>;
}

export class RunAhead implements AheadSteps {
  readonly #steps = new Map<string, Step>();
  /** Activities that wait for the call of another worker. */
  readonly #waiting = new Map<string, () => void>();
  readonly #deps: ActivityDeps;
  readonly #unaskedTimer: NodeJS.Timeout;
  readonly #late = new AbortController();
  #isClosed = false;

  constructor(deps: Omit<ActivityDeps, 'ahead'>) {
    this.#deps = { ...deps, ahead: this };
    this.#unaskedTimer = setInterval(() => void this.#startUnasked(), UNASKED_MS);
  }

  begin(turn: StartableTurn, isOwn = false): Promise<unknown> | null {
    const { config, slots } = this.#deps;
    if (!config.runAhead || turn.mcpServers > 0 || this.#isClosed || this.#steps.has(turn.id)) return null;
    if (this.#steps.size >= MAX_UNASKED || (isOwn && this.#isTemporalBehind())) return null;
    const free = slots.tryTake(turn.projectId);
    if (free === null) return null;
    const step: Step = {
      ...{ turn, isOwn, stop: new AbortController(), dueAt: performance.now() + MAX_LAG_MS, free },
      ...{ hasBegun: false, isAsked: false, waiter: null, endedAt: null, result: Promise.resolve(null) },
    };
    this.#steps.set(turn.id, step);
    return (step.result = this.#run(step));
  }

  #isTemporalBehind(): boolean {
    const now = performance.now();
    return [...this.#steps.values()].some(({ isOwn, isAsked, dueAt }) => isOwn && !isAsked && dueAt < now);
  }

  receive(notice: AheadNotice): void {
    if ('begin' in notice) void this.begin(notice.begin);
    else if ('stop' in notice) this.#steps.get(notice.stop)?.stop.abort(new Error('its activity has ended'));
    else if ('waits' in notice) void this.#noteWaiter(notice.waits, notice.worker);
    else this.#waiting.get(notice.ended)?.();
  }

  async #noteWaiter(turnId: string, worker: string): Promise<void> {
    const step = this.#steps.get(turnId);
    if (step === undefined) await this.#close(turnId);
    else this.#ask(step);
    if (step?.endedAt === null) step.waiter = worker;
    else this.#notify(worker, { ended: turnId });
  }

  /** An activity elsewhere waits for a record that is open, also for one without a step, whose commit was in doubt. */
  #close(turnId: string): Promise<void> {
    const { db, workerId, log } = this.#deps;
    return storeWithRetries(() => closeAheadCall(db, turnId, workerId), this.#late.signal).catch((err: unknown) =>
      log.warn({ err, turn_id: turnId }, 'the end of a call that ran ahead could not be recorded'),
    );
  }

  #ask(step: Step): void {
    step.isAsked = true;
    if (step.endedAt !== null) this.#drop(step);
  }

  #drop(step: Step): void {
    this.#steps.delete(step.turn.id);
    step.free();
  }

  async join(turnId: string, task: ActivityTask, signal: AbortSignal): Promise<StepResult | null> {
    if (!this.#deps.config.runAhead) return null;
    const step = this.#steps.get(turnId);
    return step === undefined ? this.#joinElsewhere(turnId, task, signal) : this.#joinHere(step, task, signal);
  }

  /** Begins no more steps, and after the grace period ends those that no activity waits for. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#unaskedTimer);
    const late = setTimeout(() => {
      // Temporal ends the others, by their activities here.
      const alone = [...this.#steps.values()].filter(({ isAsked, waiter }) => !isAsked || waiter !== null);
      for (const { stop } of alone) stop.abort(new Error('this worker ends'));
      setTimeout(() => this.#late.abort(), CLOSE_MS).unref();
    }, this.#deps.config.shutdownGraceSeconds * 1000);
    await Promise.all([...this.#steps.values()].map(({ result }) => result));
    clearTimeout(late);
    await Promise.race([this.#startUnasked(), sleep(CLOSE_MS)]);
  }

  async #run(step: Step): Promise<Awaited<Step['result']>> {
    const { turn } = step;
    const running = this.#deps.runningTurns.track(turn.id);
    const began = performance.now();
    let result: Awaited<Step['result']> = null;
    try {
      const signal = AbortSignal.any([running.signal, step.stop.signal]);
      const input = { turnId: turn.id, sessionId: turn.sessionId, step: 1, compacted: false };
      const onBegin = () => (step.hasBegun = true);
      const work = () => runStep(this.#deps, input, signal, { workerId: this.#deps.workerId, token: null }, onBegin);
      result = { outcome: await withTrace(turn.trace, work) };
    } catch (error) {
      const isCancelled = running.signal.aborted && !(running.signal.reason instanceof LeaseLostError);
      if (isCancelled) result = { error: await endCancelled(this.#deps, turn.id, error) };
      // What did not begin is run by the activity, and so is what needs a shorter request.
      else if (step.hasBegun && !isTooLong(error)) result = { error };
    }
    running.done();
    const isStored = result !== null && 'outcome' in result;
    const outcome = isStored ? 'ok' : result === null ? 'left' : 'failed';
    const ms = Math.round(performance.now() - began);
    this.#deps.log.info({ turn_id: turn.id, outcome, ms }, 'first step ran ahead');
    if (!isStored) await this.#close(turn.id);
    step.endedAt = performance.now();
    if (!isStored) step.dueAt = Number.POSITIVE_INFINITY;
    if (step.waiter !== null) this.#notify(step.waiter, { ended: turn.id });
    if (step.isAsked || result === null) this.#drop(step);
    else if (!step.isOwn) step.free();
    return result;
  }

  #notify(workerId: string, notice: AheadNotice): void {
    this.#deps.notifier.send(channelOfWorker(workerId), JSON.stringify(notice));
  }

  async #joinHere(step: Step, task: ActivityTask, signal: AbortSignal): Promise<StepResult | null> {
    const { db, log } = this.#deps;
    const { id } = step.turn;
    this.#ask(step);
    const stop = (): void => step.stop.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop);
    const record = setInterval(() => {
      if (!step.hasBegun) return;
      clearInterval(record);
      joinAheadCall(db, id, task).catch((err: unknown) => log.warn({ err, turn_id: id }, 'a join was not recorded'));
    }, RECORD_JOIN_AFTER_MS);
    const result = await step.result;
    clearInterval(record);
    signal.removeEventListener('abort', stop);
    if (result !== null && 'outcome' in result) return result.outcome;
    // No later attempt takes this failure a second time.
    if (step.hasBegun && !signal.aborted) await storeWithRetries(() => joinAheadCall(db, id, task), signal);
    // Null if another activity has stopped it, whose place this one has taken.
    if (result === null || (step.stop.signal.aborted && !signal.aborted)) return null;
    throw sooner(result.error, performance.now() - step.endedAt!);
  }

  async #joinElsewhere(turnId: string, task: ActivityTask, signal: AbortSignal): Promise<StepResult | null> {
    const { db, workerId } = this.#deps;
    for (;;) {
      const call = await joinAheadCall(db, turnId, task);
      if (call?.isOpen) {
        const ended = new Promise<void>((resolve) => this.#waiting.set(turnId, resolve));
        this.#notify(call.workerId, { waits: turnId, worker: workerId });
        const pause = sleep(POLL_MS, undefined, { signal, ref: false }).catch(ignored('the pause was cut short'));
        await Promise.race([ended, pause]);
        this.#waiting.delete(turnId);
        if (signal.aborted) this.#notify(call.workerId, { stop: turnId });
      }
      signal.throwIfAborted();
      if (call === null || (!call.isOpen && call.failure === null)) return null;
      if (call.isOpen) continue;
      if (call.failure!.type === 'context_too_long') return null;
      const retrySeconds = retrySecondsOf(this.#deps, await loadTurnModels(db, turnId));
      const waitMs = retryDelay(call.failure!, { failures: 0, failingForMs: 0 }, retrySeconds);
      throw sooner(failureOf(call.failure!.type, 1, waitMs), call.endedForMs);
    }
  }

  /** A turn that ended before its workflow started gets one all the same: operators search for it in Temporal. */
  async #startUnasked(): Promise<void> {
    const { db, workerId, workflows, log } = this.#deps;
    const until = this.#isClosed ? Number.POSITIVE_INFINITY : performance.now() - UNASKED_MS;
    const due = [...this.#steps].filter(([, { endedAt }]) => endedAt !== null && endedAt <= until);
    if (due.length === 0) return;
    try {
      const unasked = await neverJoined(db, [...new Map(due).keys()], workerId);
      for (const [turnId, step] of due) {
        if (unasked.has(turnId)) await workflows.start(step.turn);
        this.#drop(step);
      }
    } catch (err) {
      log.warn({ err }, 'workflows of turns that ran ahead could not be started yet');
    }
  }
}

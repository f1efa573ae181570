import { makeContinueAsNewFunc, workflowInfo } from '@temporalio/workflow';
import type { TurnState } from '../src/db/turn-states.js';
import type { StopReason } from '../src/events/fields.js';
import type { StepOutcome } from '../src/steps/model-step.js';
import type { AdvancedStep, TurnActivities } from '../activities/turn/turn-activities.js';
import { CallRunner } from './call-runner.js';
import type { TurnInput } from './contract.js';
import { Details, formatChildren, formatSources, formatToolNames } from './details.js';
import { PolledCalls } from './polled-calls.js';
import { proxyTurnActivities } from './proxy-activities.js';
import { countSignals, waitForStep } from './wait.js';
import { WaitsFor } from './waits-for.js';

type Ended = Extract<StepOutcome, { kind: 'ended' }>;

/** What a step waits for. */
interface StepWait {
  of: 'model' | 'calls';
  call: (indices: number[]) => Promise<number[]>;
  show: (open: number[], children?: AdvancedStep['children']) => string;
}

export class TurnRun {
  /** How the turn ended, as operators see it in Temporal; `state` is null if the workflow does not know it. */
  readonly summary = { state: null as TurnState | null, stop_reason: null as StopReason | null, steps: 0 };
  readonly #signals: { received: number };
  readonly polled: PolledCalls;
  readonly #waitsFor: WaitsFor;
  readonly #details: Details;
  step: number;
  /** The end of the turn's time, in ms since 1970. */
  #deadline = 0;
  #tools: string[] = [];
  /** True if calls of the step have begun a wait of their own. */
  #hasWaiting = false;
  /** Calls that run in activities. */
  readonly #running = new Set<number>();
  readonly #calls = new CallRunner();

  constructor(private readonly input: TurnInput) {
    this.step = input.step ?? 1;
    this.#details = new Details(input.step === undefined ? null : input.details);
    this.#setRemaining(input.remainingMs);
    this.#waitsFor = new WaitsFor(input.searchable);
    this.polled = new PolledCalls(input.id, this.#waitsFor);
    this.#waitsFor.listen({
      isOpen: ({ step, index }) => step === this.step && (this.#running.has(index) || this.polled.isOpen(index)),
      onAsking: (asking) => this.#details.showAsking(formatToolNames(this.#tools, asking), asking.length),
    });
    this.#signals = countSignals(() => this.polled.askAgain());
  }

  async connect(): Promise<void> {
    const { id: turnId, agents, step } = this.input;
    const sources = formatSources(this.input);
    if (sources === null || step !== undefined) return;
    this.#details.show(`connecting ${sources}`);
    await this.#activity(`connect ${sources}`).connectMcpServers({ turnId, ...(agents !== undefined && { agents }) });
  }

  /** Makes the model call of the step, as often as the session's budget lets the turn wait before it. */
  async callModel(): Promise<StepOutcome> {
    const outcome = await this.#model();
    this.summary.steps = this.step;
    if (outcome.kind === 'ended') this.#end(outcome);
    return outcome;
  }

  /** Runs the calls of the step that need no answer. */
  async runTools(outcome: StepOutcome): Promise<void> {
    if (outcome.kind !== 'tools') return;
    const { tools, waiting } = outcome;
    const free = [...tools.keys()].filter((index) => !waiting.includes(index));
    if (free.length > 0) this.#hasWaiting = (await this.#call(outcome, free)).length > 0;
  }

  /** Waits until the other calls of the step need nothing any more and have run. Returns the end of the turn if a wait has ended it. */
  async waitForOthers(outcome: StepOutcome): Promise<Ended | null> {
    if (outcome.kind !== 'tools' || (outcome.waiting.length === 0 && !this.#hasWaiting)) return null;
    this.#hasWaiting = false;
    const { tools } = outcome;
    const ended = await this.#waitFor({
      of: 'calls',
      call: (indices) => this.#call(outcome, indices),
      show: (open, children) =>
        children === undefined ? `answers to ${formatToolNames(tools, open)}` : formatChildren(children.turnIds),
    });
    if (ended !== null) this.#end(ended);
    return ended;
  }

  /** Begins the next step, in a new run if this was the last one of the run. */
  async nextStep(): Promise<void> {
    this.step += 1;
    if (workflowInfo().continueAsNewSuggested) await this.#continueAsNew();
  }

  async #model(): Promise<StepOutcome> {
    for (let again = false; ; again = true) {
      if (again) {
        const ended = await this.#waitFor({
          of: 'model',
          call: () => Promise.resolve([]),
          show: () => 'a larger budget',
        });
        if (ended !== null) return ended;
      }
      // A run that begins at this step has waited for a budget before.
      const outcome = await this.#callModel(again || this.input.step === this.step);
      if (outcome.kind !== 'paused') return outcome;
    }
  }

  async #callModel(again: boolean): Promise<StepOutcome> {
    this.#details.show(`${this.#progress}: model call`);
    const { id: turnId, sessionId, modelId } = this.input;
    const place = { turnId, sessionId, step: this.step };
    const call = (compacted: boolean) =>
      this.#activity(`model call ${place.step} · ${modelId}`).callModel({
        ...place,
        compacted,
        ...(again && { again }),
      });
    let outcome = await call(false);
    // A second time only for another model: one that a call falls back to, with a smaller context.
    while (outcome.kind === 'compact') {
      const summary = this.#activity(`compact the context before model call ${place.step}`);
      const paused = await summary.compactContext({ turnId, step: place.step });
      if (paused?.kind === 'paused') return paused;
      outcome = await call(true);
    }
    return outcome;
  }

  /** Waits for what the model call or the calls of the step need. `show` names it for operators. */
  #waitFor({ of, call, show }: StepWait): Promise<Ended | null> {
    return waitForStep({
      signals: this.#signals,
      place: { turnId: this.input.id, step: this.step, of },
      setRemaining: (ms) => this.#setRemaining(ms),
      call,
      show: (open, children) => this.#details.show(`${this.#progress}: waits for ${show(open, children)}`),
      waitsFor: this.#waitsFor,
    });
  }

  #end({ state, stopReason }: Ended): void {
    Object.assign(this.summary, { state, stop_reason: stopReason });
    this.#details.show(state);
  }

  /** Runs calls. Returns those that have begun a wait of their own. */
  async #call(outcome: Extract<StepOutcome, { kind: 'tools' }>, indices: number[]): Promise<number[]> {
    const { tools, mayAsk = false, serial = [] } = outcome;
    const isSerial = (index: number): boolean => serial.includes(index);
    const waiting: number[] = [];
    this.#tools = tools;
    this.#details.show(`${this.#progress}: ${formatToolNames(tools, indices)}`);
    const waits: Promise<void>[] = [];
    const callOne = async (index: number): Promise<void> => {
      this.#running.add(index);
      const place = { turnId: this.input.id, step: this.step, index };
      const call = this.#activity(`tool ${tools[index]}`, mayAsk).callTool(place);
      const outcome = await call.finally(() => this.#running.delete(index));
      if (outcome?.kind === 'done') this.#setRemaining(outcome.remainingMs);
      if (outcome?.kind === 'waits') waiting.push(index);
      if (outcome?.kind !== 'polled') return this.#waitsFor.endAsking(index);
      const wait = this.#waitForPolled(tools, index, outcome.group);
      wait.catch(() => undefined); // It is awaited when all calls have begun.
      waits.push(wait);
    };
    const inSeries = await this.#calls.begin(indices, isSerial, callOne);
    await Promise.all([...inSeries, ...waits]);
    return waiting;
  }

  /** Waits for a call that goes on without an activity. That time does not count against the turn's time limit. */
  async #waitForPolled(tools: string[], index: number, group: string): Promise<void> {
    const waiting = this.polled.wait({ step: this.step, index, tool: tools[index]!, group });
    this.#details.show(`${this.#progress}: waits for tasks of ${formatToolNames(tools, this.polled.open)}`);
    const { remainingMs } = await waiting;
    this.#waitsFor.endAsking(index);
    this.#setRemaining(remainingMs);
  }

  #setRemaining(ms: number): void {
    this.#deadline = Date.now() + ms;
  }

  #activity(summary: string, mayAsk = false): TurnActivities {
    return proxyTurnActivities(summary, this.#deadline - Date.now(), mayAsk);
  }

  /** Continues at the step in a new run. Its activities find what is stored of the step already. */
  #continueAsNew(): Promise<never> {
    const remainingMs = Math.max(0, this.#deadline - Date.now());
    const next: TurnInput = { ...this.input, step: this.step, remainingMs };
    return makeContinueAsNewFunc<(input: TurnInput) => Promise<unknown>>()(next);
  }

  get #progress(): string {
    return `step ${this.step} of at most ${this.input.maxSteps}`;
  }
}

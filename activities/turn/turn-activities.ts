import type { StepOutcome } from '../../src/steps/model-step.js';
import type { StepWait } from '../../src/waits/advance.js';
import type { TurnFailureType } from '../../src/events/fields.js';
import type { CallPlace } from '../../src/turns/facts.js';
import type { Suspended } from '../tools/tool-kind.js';

/** Activities of the turn workflow. They pass ids and small facts only: content stays in Postgres and file storage. */
export interface TurnActivities {
  /**
   * Gets the sources of tools ready: connects the session's MCP servers in parallel. The turn goes on without servers that fail.
   * `agents`: how many agents the turn may call; absent without any.
   */
  connectMcpServers(input: { turnId: string; agents?: number }): Promise<void>;
  /**
   * One step: calls the model and stores the outcome. Completes the turn if the answer needs no further step.
   * `again`: the step has waited for a larger budget.
   */
  callModel(input: {
    turnId: string;
    sessionId: string;
    step: number;
    compacted: boolean;
    again?: true;
  }): Promise<StepOutcome>;
  /** Summarises older turns, so that the next request fits the model's context. */
  compactContext(input: {
    turnId: string;
    step: number;
  }): Promise<Extract<StepOutcome, { kind: 'paused' }> | undefined>;
  /**
   * Runs one tool call of a step and stores its result. If the call has none yet, returns what it waits for; if its server may have
   * asked questions, what is left of the turn's time.
   */
  callTool(input: CallPlace): Promise<Suspended | { kind: 'done'; remainingMs: number } | undefined>;
  /**
   * Asks for the tasks of calls, which all are of one group, until some have ended, and stores their results. Each question is an attempt
   * of its own: between them the activity waits in Temporal, without a slot and without new events in the history.
   */
  pollTasks(input: PolledCalls): Promise<PolledTasks>;
  cancelTasks(input: { turnId: string }): Promise<void>;
  /**
   * Advances a step whose model call or whose tool calls wait: asks for what is planned, closes what has expired or needs no answer any
   * more, and takes over the answers that came. `of`: whose waits.
   */
  advanceStep(input: {
    turnId: string;
    step: number;
    of: 'calls' | 'model';
  }): Promise<AdvancedStep | Extract<StepOutcome, { kind: 'ended' }>>;
  finishTurn(input: { turnId: string; ending: UnsuccessfulOutcome }): Promise<void>;
}

/** Calls of one step of a turn. */
export interface PolledCalls {
  turnId: string;
  step: number;
  indices: number[];
}

export interface PolledTasks {
  /** The calls that have a result now, at least one. */
  ended: number[];
  /** A task took too long: its server must be asked to cancel it. */
  isOverdue: boolean;
  remainingMs: number;
}

export interface AdvancedStep extends Omit<StepWait, 'runningMs'> {
  kind: 'waits';
  remainingMs: number;
}

/** How the workflow ends a turn. Its event's message is made by `finishTurn`: histories contain no content. */
export type UnsuccessfulOutcome = { kind: 'cancelled' } | { kind: 'failed'; type: TurnFailureType };

import type { StepOutcome } from '../../src/steps/model-step.js';
import type { StepWait } from '../../src/answers/wait.js';
import type { TurnFailureType } from '../../src/events/fields.js';
import type { CallPlace } from '../../src/turns/facts.js';

/** Activities of the turn workflow. They pass ids and small facts only: content stays in Postgres and file storage. */
export interface TurnActivities {
  /** Connects the session's MCP servers in parallel. The turn goes on without servers that fail. */
  connectMcpServers(input: { turnId: string }): Promise<void>;
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
  callTool(
    input: CallPlace,
  ): Promise<TaskBegun | { kind: 'done'; remainingMs: number } | { kind: 'authorization' } | undefined>;
  /**
   * Asks for the task of a call until it has ended, then stores the result. Each question is an attempt of its own: between
   * them the activity waits in Temporal, without a slot and without new events in the history.
   */
  pollTask(input: CallPlace): Promise<EndedTask>;
  /** Asks for the tasks of one MCP server together, until some of these calls need `pollTask`: returns them, at least one. */
  pollTasks(input: { turnId: string; step: number; indices: number[] }): Promise<PolledTasks>;
  cancelTasks(input: { turnId: string }): Promise<void>;
  /**
   * Advances a step that waits for answers: asks for missing ones, closes expired calls, applies the answers that came.
   * Returns null if the turn has ended.
   */
  advanceWait(input: { turnId: string; step: number }): Promise<AdvancedWait | null>;
  /** Reads whether a step still waits for a larger budget; ends the turn if it has waited too long. */
  advanceBudget(input: {
    turnId: string;
    step: number;
  }): Promise<AdvancedBudget | Extract<StepOutcome, { kind: 'ended' }>>;
  finishTurn(input: { turnId: string; ending: UnsuccessfulOutcome }): Promise<void>;
}

/** Indices of calls: those whose tasks have ended, and those whose servers ask a question. */
export type PolledTasks = Record<'ended' | 'asking', number[]>;

export interface EndedTask {
  remainingMs: number;
  /** The task took too long: its server must be asked to cancel it. */
  isOverdue: boolean;
}

/** A call whose task its server works on. */
interface TaskBegun {
  kind: 'task';
  serverId: string;
}

export interface AdvancedWait extends Omit<StepWait, 'runningMs'> {
  remainingMs: number;
}

export interface AdvancedBudget {
  kind: 'waits' | 'over';
  /** Until the wait expires; 0 if it is over. */
  expiresInMs: number;
  remainingMs: number;
}

/** How the workflow ends a turn. Its event's message is made by `finishTurn`: histories contain no content. */
export type UnsuccessfulOutcome = { kind: 'cancelled' } | { kind: 'failed'; type: TurnFailureType };

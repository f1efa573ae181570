import type { StepOutcome } from '../../src/steps/model-step.js';
import type { StepWait } from '../../src/answers/wait.js';
import type { TurnFailureType } from '../../src/events/fields.js';

/** Activities of the turn workflow. They pass ids and small facts only: content stays in Postgres and file storage. */
export interface TurnActivities {
  /** Connects the session's MCP servers in parallel. The turn goes on without servers that fail. */
  connectMcpServers(input: { turnId: string }): Promise<void>;
  /** One step: calls the model and stores the outcome. Completes the turn if the answer needs no further step. */
  callModel(input: { turnId: string; step: number; compacted: boolean }): Promise<ModelCallOutcome>;
  /** Summarises older turns, so that the next request fits the model's context. */
  compactContext(input: { turnId: string; step: number }): Promise<void>;
  /** Runs one tool call of a step and stores its result. */
  callTool(input: { turnId: string; step: number; index: number }): Promise<void>;
  /**
   * Advances a step that waits for answers: asks for missing ones, closes expired calls, applies the answers that came.
   * Returns null if the turn has ended.
   */
  advanceWait(input: { turnId: string; step: number }): Promise<AdvancedWait | null>;
  /** Ends a turn that was cancelled or has failed. */
  finishTurn(input: { turnId: string; ending: UnsuccessfulOutcome }): Promise<void>;
}

export interface AdvancedWait extends Omit<StepWait, 'runningMs'> {
  /** What is left of the turn's time. */
  remainingMs: number;
  /** After this time the wait continues as new. */
  longWaitMs: number;
}

/** `compact`: the request would not fit, earlier turns must be summarised first. */
export type ModelCallOutcome = StepOutcome | { kind: 'compact' };

export type UnsuccessfulOutcome = { kind: 'cancelled' } | { kind: 'failed'; type: TurnFailureType };

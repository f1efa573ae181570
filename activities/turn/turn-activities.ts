import type { StepOutcome } from '../../src/turns/model-step.js';
import type { StepWait } from '../../src/turns/wait.js';
import type { TurnFailureType } from '../../src/turns/states.js';

/** What the turn workflow can have done. Ids and small facts only: content stays in Postgres and file storage. */
export interface TurnActivities {
  /** Claims the turn; null when it has ended. */
  beginTurn(input: { turnId: string }): Promise<BegunTurn | null>;
  /** Connects the session's MCP servers, all at once; the ones that fail are absent from this turn. */
  connectMcpServers(input: { turnId: string }): Promise<void>;
  /** One step: a call of the model, its outcome stored. With nothing more to do it also completes the turn. */
  callModel(input: { turnId: string; step: number; compacted: boolean }): Promise<ModelCallOutcome>;
  /** Summarises older turns, so that the next request fits the model's context. */
  compactContext(input: { turnId: string; step: number }): Promise<void>;
  /** One tool call of a step: its result stored. */
  callTool(input: { turnId: string; step: number; index: number }): Promise<void>;
  /** Where a step stands that waits for answers: asks for them, closes what expired, takes over what came. Null: ended. */
  advanceWait(input: { turnId: string; step: number }): Promise<AdvancedWait | null>;
  /** Ends a turn that was cancelled or has failed. */
  finishTurn(input: { turnId: string; ending: UnsuccessfulOutcome }): Promise<void>;
}

export interface AdvancedWait extends Omit<StepWait, 'runningMs'> {
  /** What is left of the turn's time. */
  remainingMs: number;
  /** After this long the wait goes on in another run. */
  longWaitMs: number;
}

export interface BegunTurn {
  modelId: string;
  mcpServers: number;
  maxSteps: number;
  /** What is left of the turn's time. */
  remainingMs: number;
}

/** `compact`: the request would not fit, earlier turns must be summarised first. */
export type ModelCallOutcome = StepOutcome | { kind: 'compact' };

export type UnsuccessfulOutcome = { kind: 'cancelled' } | { kind: 'failed'; type: TurnFailureType };

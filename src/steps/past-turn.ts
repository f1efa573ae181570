import type { TurnFields } from '../db/entities/turns.js';
import type { FileSnapshot } from '../events/fields.js';
import type { AssistantBlock, ResultBlock } from '../models/content.js';

/** A turn in the form for the model. */
export interface PastTurn extends Pick<TurnFields, 'id' | 'number' | 'state' | 'queuedAt'> {
  /** Its message; null for a turn that continues the one before. */
  content: string | null;
  files: FileSnapshot[];
  continues: number | null;
  /** The messages that it got while it ran, in order. */
  steering: SteeringMessage[];
  steps: PastStep[];
  /** The streamed part of a message that a cancel request or a failure cut off. */
  cutOff: string | null;
}

export interface SteeringMessage {
  id: string;
  content: string;
  files: FileSnapshot[];
  /** Number of the model call that sees it first; null while it waits for the next one. */
  step: number | null;
  /** When it was delivered, or sent if it waits. */
  at: string;
}

export interface PastStep {
  step: number;
  modelId: string;
  content: AssistantBlock[];
  stopReason: string;
  /** In the order of the step's tool uses. */
  calls: PastCall[];
}

export interface PastCall {
  index: number;
  toolUseId: string;
  name: string;
  /** Null while there is no result. */
  content: ResultBlock[] | null;
  /** It may have reached its server, or the client that runs it. */
  wasSent: boolean;
  isError: boolean;
  /** Key of the object with the full text, if `content` is shortened. */
  overflowKey: string | null;
  /** The beginning of the input with which a person replaced what the model wrote; absent or null without one. */
  changedInput?: unknown;
}

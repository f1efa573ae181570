import type { EventData } from '../events/schema.js';
import { kindOf } from './kinds/index.js';
import type { AnswerType, Outcome, WaitResult, WaitType } from './kinds/wait-kind.js';

export type { WaitResult };

/** The latest wait of a call that does not run meanwhile. */
export interface CallWait {
  kind: WaitType;
  /** Null while it is planned or open. */
  outcome: Outcome | null;
  answer: EventData[AnswerType] | null;
}

/** What a call came to whose wait has ended without letting it run; null if it runs (decisions.md "Person in the loop"). */
export function unrunResult({ kind, outcome, answer }: CallWait): WaitResult | null {
  return outcome === null ? null : kindOf(kind).resultOf(outcome, answer as never);
}

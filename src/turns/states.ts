/**
 * The state machine of a turn, checked for completeness by its type: the state after each trigger, or null where the
 * trigger is refused (spec.md "States and transitions"). Everything else in this file is derived from it.
 */
export const TRANSITIONS = {
  queued: { claim: 'running', complete: null, cancel: 'cancelled', fail: 'failed' },
  running: { claim: 'running', complete: 'completed', cancel: 'cancelled', fail: 'failed' },
  completed: { claim: null, complete: null, cancel: null, fail: null },
  cancelled: { claim: null, complete: null, cancel: null, fail: null },
  failed: { claim: null, complete: null, cancel: null, fail: null },
} as const satisfies Record<string, Record<string, string | null>>;

export type TurnState = keyof typeof TRANSITIONS;
export type TurnTrigger = keyof (typeof TRANSITIONS)[TurnState];

const STATES = Object.keys(TRANSITIONS) as TurnState[];

/** The states in which a trigger is accepted. */
export function statesBefore(trigger: TurnTrigger): TurnState[] {
  return STATES.filter((state) => TRANSITIONS[state][trigger] !== null);
}

/** True if a turn in this state blocks its session and counts against its project's limit. */
export function isOpen(state: TurnState): boolean {
  return Object.values(TRANSITIONS[state]).some((next) => next !== null);
}

export const OPEN_STATES: readonly TurnState[] = STATES.filter(isOpen);

/** SQL conditions on the column `state` of turns. */
export const OPEN = `state IN (${OPEN_STATES.map((state) => `'${state}'`).join(', ')})`;
export const ENDED = `NOT (${OPEN})`;

export type { StopReason, TurnFailureType } from '../events/fields.js';

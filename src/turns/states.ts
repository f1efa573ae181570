/**
 * The life of a turn as a table, complete by type: which state each trigger leads to, or null where it is refused
 * (spec.md "States and transitions"). Pure: workflows import it too.
 */
export type TurnState = 'queued' | 'running' | 'completed' | 'cancelled' | 'failed';
export type TurnTrigger = 'claim' | 'complete' | 'cancel' | 'fail';

export const TRANSITIONS: Readonly<Record<TurnState, Readonly<Record<TurnTrigger, TurnState | null>>>> = {
  queued: { claim: 'running', complete: null, cancel: 'cancelled', fail: 'failed' },
  running: { claim: 'running', complete: 'completed', cancel: 'cancelled', fail: 'failed' },
  completed: { claim: null, complete: null, cancel: null, fail: null },
  cancelled: { claim: null, complete: null, cancel: null, fail: null },
  failed: { claim: null, complete: null, cancel: null, fail: null },
};

/** A turn that still blocks its session and counts against its project. */
export function isOpen(state: TurnState): boolean {
  return state === 'queued' || state === 'running';
}

export type { StopReason, TurnFailureType } from '../events/fields.js';

import type { DeltaType } from '../events/stream-schema.js';

/** The place of a model call's deltas: the turn's last stored event when the call began, and the number of the call in its turn. */
interface DeltaPlace {
  turnId: string;
  position: number;
  call: number;
  messageId: string;
}

/** A model call. Only the turn's latest one may store deltas. */
export interface DeltaSource extends DeltaPlace {
  sessionId: string;
  /** No other call has begun since that event: the call's first delta comes right after it. */
  isFirstSinceEvent: boolean;
}

/** Consecutive deltas of one type: the type, then the content of each. */
export type DeltaRun = [type: DeltaType, ...contents: string[]];

/** Consecutive deltas of one model call, numbered from 1. `first` is the number of the first one here. */
export interface DeltaBatch extends DeltaPlace {
  first: number;
  runs: DeltaRun[];
}

interface Delta {
  number: number;
  type: DeltaType;
  content: string;
}

export function addDelta(runs: DeltaRun[], type: DeltaType, content: string): void {
  const run = runs.at(-1);
  if (run?.[0] === type) run.push(content);
  else runs.push([type, content]);
}

export function countDeltas(runs: DeltaRun[]): number {
  return runs.reduce((count, run) => count + run.length - 1, 0);
}

export function* unpackDeltas({ first, runs }: DeltaBatch): Generator<Delta> {
  let number = first;
  for (const [type, ...contents] of runs) {
    for (const content of contents) {
      yield { number, type, content };
      number += 1;
    }
  }
}

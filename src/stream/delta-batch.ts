import type { DeltaType } from '../events/stream-schema.js';

/**
 * The position of a model call's deltas: the turn's last stored event when the call began, and the attempt after that
 * event.
 */
interface DeltaPlace {
  turnId: string;
  position: number;
  attempt: number;
  messageId: string;
}

export interface DeltaSource extends DeltaPlace {
  sessionId: string;
  /** The number of the call in its turn. Only the turn's latest call may store deltas. */
  call: number;
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

import { GIVE_OUTPUT } from '../sessions/tools.js';
import type { PastStep } from './past-turn.js';

/** A turn ends as `output_invalid` after so many values that do not fit, and ends without a value, together. */
const MAX_FAILURES = 3;
/** Stop reasons of an answer that the model did not end by itself. */
const ENDS_BY_ITSELF: ReadonlySet<string> = new Set(['max_tokens', 'model_context_window_exceeded', 'refusal']);

const ACCEPTED = 'Accepted. The turn ends with this value.';
const ALONE = 'Not taken: call give_output alone, after the results of all other calls.';

/** The result of a call that does not run. */
export interface GivenResult {
  text: string;
  isError: boolean;
  /** False for a call of `give_output`, which clients do not see. */
  hasEvents: boolean;
}

/** What an answer means for a turn that must end with an output (docs/decisions.md "Output schema"). */
export interface StepOutput {
  /** By the index of the tool use. */
  results: ReadonlyMap<number, GivenResult>;
  /** The model did not give a value that is valid, and is called again. */
  mustRepair: boolean;
  /** How the answer ends the turn; null if it does not, or ends it as it would any turn. */
  end: { stopReason: 'end_turn' | 'output_invalid'; value: string | null } | null;
}

/** A call of `give_output` that is the only one of its answer: its value as JSON text, and what is wrong with it. */
export interface GivenValue {
  json: string;
  errors: readonly string[];
}

/** True if these calls of an answer are one value to check, and nothing else. */
export function isValue(names: readonly string[]): boolean {
  return names.length === 1 && names[0] === GIVE_OUTPUT;
}

/** True if none of these calls of an answer runs: a call of `give_output` has its result. */
export function noneRuns(names: readonly string[]): boolean {
  return names.every((name) => name === GIVE_OUTPUT);
}

/**
 * @param names the full names of the answer's tool uses
 * @param failures of the turn's steps before
 */
export function planOutput(
  names: readonly string[],
  stopReason: string | null,
  value: GivenValue | null,
  failures: number,
): StepOutput {
  const isLastFailure = failures + 1 >= MAX_FAILURES;
  const invalid = { stopReason: 'output_invalid', value: null } as const;
  if (value !== null) {
    if (value.errors.length === 0) {
      const results = new Map([[0, told(ACCEPTED, false)]]);
      return { results, mustRepair: false, end: { stopReason: 'end_turn', value: value.json } };
    }
    const results = new Map([[0, told(refusedText(value.errors))]]);
    return { results, mustRepair: !isLastFailure, end: isLastFailure ? invalid : null };
  }
  if (names.length > 0) {
    const calls = names.flatMap((name, index) => (name === GIVE_OUTPUT ? [index] : []));
    const results = new Map(calls.map((index) => [index, told(ALONE)]));
    return { results, mustRepair: false, end: null };
  }
  if (!endsWithoutValue(stopReason)) return { results: new Map(), mustRepair: false, end: null };
  return { results: new Map(), mustRepair: !isLastFailure, end: isLastFailure ? invalid : null };
}

/** The failures of the steps of an open turn that must end with an output. */
export function countOutputFailures(steps: readonly PastStep[]): number {
  return steps.filter(
    (step) =>
      isValue(step.calls.map(({ name }) => name)) || (step.calls.length === 0 && endsWithoutValue(step.stopReason)),
  ).length;
}

/** The model ended its answer, and made no call. */
function endsWithoutValue(stopReason: string | null): boolean {
  return stopReason !== 'pause_turn' && !ENDS_BY_ITSELF.has(stopReason ?? '');
}

function told(text: string, isError = true): GivenResult {
  return { text, isError, hasEvents: false };
}

function refusedText(errors: readonly string[]): string {
  const list = errors.map((error) => `\n- ${error}`).join('');
  return `The value does not fit the schema. Correct it and call give_output again.${list}`;
}

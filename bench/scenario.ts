import type { Bench } from './bench.js';

/** A file of bench/scenarios: what it measures, the options that it takes with their defaults, and how it measures. */
export interface Scenario<Options extends Record<string, string | number> = Record<string, string | number>> {
  measures: string;
  options: Options;
  run(bench: Bench, options: Options): Promise<void>;
}

/** Infers the type of the options from their defaults. */
export function scenario<Options extends Record<string, string | number>>(one: Scenario<Options>): Scenario<Options> {
  return one;
}

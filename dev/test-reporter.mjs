import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import Mocha from 'mocha';

const { EVENT_RUN_END, EVENT_TEST_END, EVENT_TEST_FAIL, EVENT_TEST_PASS, EVENT_TEST_PENDING } = Mocha.Runner.constants;
const MAX_LINES_OF_ERROR = 15;

/**
 * Reports a line for each test file and each failure; with the option `titles`, each test as mocha does. Writes the counts and
 * the failures of each file to the file of the option `summary`: they are the end of the run's output (test-summary).
 */
export default class SummaryReporter extends Mocha.reporters.Base {
  /**
   * @param {Mocha.Runner} runner
   * @param {Mocha.MochaOptions} options
   */
  constructor(runner, options) {
    super(runner, options);
    /** @type {{ summary: string, titles?: string }} */
    const { summary, titles } = options.reporterOptions;
    /** @type {Record<string, import('./test-summary.mjs').FileSummary>} */
    const files = {};
    const of = (/** @type {Mocha.Runnable} */ { file = 'unknown' }) =>
      (files[relative('.', file)] ??= { passed: 0, failed: 0, skipped: [], failures: [] });
    runner.on(EVENT_TEST_PASS, (test) => of(test).passed++);
    runner.on(EVENT_TEST_PENDING, (test) => of(test).skipped.push(test.fullTitle()));
    runner.on(EVENT_TEST_FAIL, (test, error) => {
      of(test).failed++;
      of(test).failures.push({ title: test.fullTitle(), error: shortError(error) });
    });
    if (titles !== undefined) new Mocha.reporters.Spec(runner, options).epilogue = () => undefined;
    else reportFiles(runner);
    runner.once(EVENT_RUN_END, () => writeFileSync(summary, JSON.stringify(files)));
  }
}

/**
 * In a parallel run the tests of a file are reported together, when it has ended.
 * @param {Mocha.Runner} runner
 */
function reportFiles(runner) {
  /** @type {string | undefined} */
  let file;
  let [tests, ms] = [0, 0];
  const writeLine = () => {
    if (tests > 0) process.stdout.write(`  ${file}: ${tests} tests, ${(ms / 1000).toFixed(1)} s\n`);
    [tests, ms] = [0, 0];
  };
  runner.on(EVENT_TEST_END, (test) => {
    const next = relative('.', test.file ?? 'unknown');
    if (next !== file) writeLine();
    file = next;
    tests += 1;
    ms += test.duration ?? 0;
  });
  runner.on(EVENT_TEST_FAIL, (test) => process.stdout.write(`  ✗ ${test.fullTitle()}\n`));
  runner.once(EVENT_RUN_END, writeLine);
}

/**
 * The message of an error, and the line of the test that it comes from.
 * @param {Partial<Error & { actual: string, expected: string, showDiff: boolean }> | undefined} error mocha has made
 *   `actual` and `expected` texts
 */
function shortError(error) {
  const { name = 'Error', message = 'no message', stack = '' } = error ?? {};
  const text = stack.includes(message) ? stack.slice(0, stack.indexOf(message)) + message : `${name}: ${message}`;
  const { actual, expected, showDiff } = error ?? {};
  const hasDiff = showDiff !== false && actual !== undefined && expected !== undefined;
  const diff = hasDiff ? Mocha.reporters.Base.generateDiff(actual, expected).split('\n') : [];
  const lines = [...text.split('\n'), ...diff].filter((line) => line.trim() !== '');
  const more = lines.length > MAX_LINES_OF_ERROR ? ['…'] : [];
  const place = stack.split('\n').find((line) => /^\s+at .*\btest\//.test(line));
  return [...lines.slice(0, MAX_LINES_OF_ERROR), ...more, ...(place === undefined ? [] : [place.trim()])];
}

import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import Mocha from 'mocha';

const { EVENT_RUN_END, EVENT_TEST_FAIL, EVENT_TEST_PASS, EVENT_TEST_PENDING } = Mocha.Runner.constants;

/** Mocha's default report. Also writes the counts of each test file to the file of the option `summary`. */
export default class SummaryReporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const files = {};
    const of = ({ file = 'unknown' }) => (files[relative('.', file)] ??= { passed: 0, failed: 0, skipped: [] });
    runner.on(EVENT_TEST_PASS, (test) => of(test).passed++);
    runner.on(EVENT_TEST_FAIL, (test) => of(test).failed++);
    runner.on(EVENT_TEST_PENDING, (test) => of(test).skipped.push(test.fullTitle()));
    runner.once(EVENT_RUN_END, () => writeFileSync(options.reporterOptions.summary, JSON.stringify(files)));
  }
}

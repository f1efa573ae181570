import { writeFileSync } from 'node:fs';
import Mocha from 'mocha';

const { EVENT_RUN_END, EVENT_TEST_FAIL, EVENT_TEST_PASS, EVENT_TEST_PENDING } = Mocha.Runner.constants;

/** Mocha's default report. Also writes the counts to the file of the option `summary`, for the last line of `npm test`. */
export default class SummaryReporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const counts = { passed: 0, failed: 0, skipped: [] };
    runner.on(EVENT_TEST_PASS, () => counts.passed++);
    runner.on(EVENT_TEST_FAIL, () => counts.failed++);
    runner.on(EVENT_TEST_PENDING, (test) => counts.skipped.push(test.fullTitle()));
    runner.once(EVENT_RUN_END, () => writeFileSync(options.reporterOptions.summary, JSON.stringify(counts)));
  }
}

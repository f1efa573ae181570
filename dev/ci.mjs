/**
 * `.ci/run`: `npm test`, then `npm run test:faults`. A file that failed runs once more; if it passes, the run passes and
 * names the file as flaky. At the end it checks that the tests have reached every row of operations, errors, permissions and
 * limits (test/support/rows). The last line counts everything. On a machine that can run sandboxes, tests of sandboxes are not skipped.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canRunSandboxes, fetchBubblewrap } from './bubblewrap.mjs';
import { outputOf, run } from './progress.mjs';
import { formatSummary } from './test-summary.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const TEST = ['test'];
const LONG = ['run', 'test:faults'];
/** When more files fail, the fault is not chance. */
const MAX_REPEATED_FILES = 3;

const folder = mkdtempSync(join(tmpdir(), 'agent-session-service-ci-'));
const rows = join(folder, 'rows');
const withoutBubblewrap = await fetchBubblewrap();
if (withoutBubblewrap !== null) process.stdout.write(`${withoutBubblewrap}\n`);
// Where the kernel can, a test fails that finds no sandbox.
const SANDBOX_TESTS = (await canRunSandboxes()) ? 'require' : 'skip';
/** @type {import('./test-summary.mjs').RunSummary} */
const total = { passed: 0, failed: 0, skipped: [], files: {} };
/** @type {string[]} */
const flaky = [];
for (const command of [TEST, LONG]) {
  const summary = await npm(...command);
  add(summary);
  Object.assign(total.files, summary.files);
  const failed = Object.entries(summary.files).filter(([, counts]) => counts.failed > 0);
  // A failure outside of every file cannot be repeated: it stays.
  const repeatable = failed.filter(([file]) => existsSync(join(root, file)));
  if (failed.length > MAX_REPEATED_FILES) continue;
  for (const [file, counts] of repeatable) {
    process.stdout.write(`\n${file} failed and runs once more\n`);
    const again = await npm(...command, '--', file);
    if (again.failed > 0) continue;
    add(counts, -1);
    add(again);
    Object.assign(total.files, again.files);
    flaky.push(file);
  }
}
// A failed test has not reached its rows, so the check would only repeat the failure.
if (total.failed === 0) await checkRows();
rmSync(folder, { recursive: true, force: true });
if (flaky.length > 0)
  process.stdout.write(`\nFlaky, passed when repeated:\n${flaky.map((file) => `  - ${file}\n`).join('')}`);
process.exitCode = total.failed === 0 ? 0 : 1;
process.stdout.write(formatSummary(total));

/**
 * Runs an npm script to its end, and returns its summary.
 * @param {string[]} args
 * @returns {Promise<import('./test-summary.mjs').RunSummary>}
 */
async function npm(...args) {
  const file = join(folder, 'summary.json');
  rmSync(file, { force: true });
  const env = { SANDBOX_TESTS, ...process.env, TEST_SUMMARY: file, REACHED_ROWS: rows };
  const child = spawn('npm', args, { cwd: root, stdio: 'inherit', env });
  const how = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(signal ?? code));
  });
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
  process.stdout.write(`npm ${args.join(' ')} ended with ${how} before it had counted\n`);
  return { passed: 0, failed: 1, skipped: [], files: {} };
}

async function checkRows() {
  try {
    await run(join(root, 'node_modules', '.bin', 'tsx'), ['test/support/rows-cli.ts', rows], { cwd: root });
    total.passed++;
  } catch (error) {
    total.failed++;
    process.stdout.write(`  ✗ every row\n${outputOf(error)}\n`);
  }
}

/**
 * Counts a run or a file in the total; with the sign -1, takes it out again.
 * @param {Pick<import('./test-summary.mjs').FileSummary, 'passed' | 'failed' | 'skipped'>} counts
 */
function add({ passed, failed, skipped }, sign = 1) {
  total.passed += sign * passed;
  total.failed += sign * failed;
  if (sign > 0) total.skipped.push(...skipped);
  else total.skipped = total.skipped.filter((title) => !skipped.includes(title));
}

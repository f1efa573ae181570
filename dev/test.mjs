/**
 * `npm test`: sets the checkout up, runs the tests on real parts, and beside them the checks of its form (lint, types, import
 * rules). `npm run test:faults` (`--long`) runs the files that take long: `*.long.test.ts`. Arguments go to mocha; a file
 * among them is all that runs. The last line counts everything.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildEmulator } from '../test/support/gcs-emulator-binary.mjs';
import { endCommandsWithUs, messageOf, outputOf, run } from './progress.mjs';
import { setup } from './setup.mjs';
import { formatSummary } from './test-summary.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const IMPORTING = ['src', 'api', 'activities', 'workflows', 'ops', 'dev', 'temporal-dev', 'client/src', 'console/src'];
/** @type {[title: string, command: [tool: string, ...options: string[]]][]} */
const CHECKS = [
  ['lint and types', ['oxlint', '--report-unused-disable-directives']],
  ['format', ['oxfmt', '--check', '.']],
  ['import rules', ['depcruise', '--config', '.dependency-cruiser.cjs', ...IMPORTING]],
];
/** The checks use the CPU time that the tests leave idle. */
const BACKGROUND_PRIORITY = 10;
const [first, ...others] = process.argv.slice(2);
const LONG = first === '--long';
const args = LONG ? others : process.argv.slice(2);
const WHOLE_RUN = args.length === 0;
/** Mocha's workers. Most tests wait most of the time; the long ones start many processes, and some of them measure time. */
const JOBS = availableParallelism() * (LONG ? 1 : 2);

/** @type {import('./test-summary.mjs').RunSummary} */
const summary = { passed: 0, failed: 0, skipped: [], files: {} };
try {
  await setup({ bubblewrap: LONG });
  if (LONG) await buildEmulator();
  const tests = runMocha();
  // It is awaited after the checks.
  tests.catch(() => undefined);
  if (WHOLE_RUN && !LONG) await runChecks(CHECKS);
  await tests;
} catch (error) {
  summary.failed++;
  process.stderr.write(`${messageOf(error)}\n`);
}
// For .ci/run, which runs a failed file once more.
if (process.env.TEST_SUMMARY) writeFileSync(process.env.TEST_SUMMARY, JSON.stringify(summary));
process.exitCode = summary.failed === 0 ? 0 : 1;
process.stdout.write(formatSummary(summary));

/** @param {typeof CHECKS} checks */
async function runChecks(checks) {
  const stop = endCommandsWithUs();
  for (const [title, [tool, ...options]] of checks) {
    const started = Date.now();
    const seconds = () => `${((Date.now() - started) / 1_000).toFixed(1)} s`;
    try {
      await run(join(root, 'node_modules', '.bin', tool), options, { cwd: root, priority: BACKGROUND_PRIORITY });
      summary.passed++;
      process.stdout.write(`  ✓ ${title} (${seconds()})\n`);
    } catch (error) {
      summary.failed++;
      process.stdout.write(`  ✗ ${title} (${seconds()})\n${outputOf(error)}\n`);
    }
  }
  stop();
}

/** The test files of the run. The largest first, so that none of them begins when all others have ended. */
function testFiles() {
  const size = (/** @type {string} */ name) => statSync(join(root, name)).size;
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && name.endsWith('.long.test.ts') === LONG)
    .map((name) => join('test', name))
    .sort((one, other) => size(other) - size(one));
}

async function runMocha() {
  const folder = mkdtempSync(join(tmpdir(), 'agent-session-service-test-'));
  const report = join(folder, 'summary.json');
  const namesFiles = args.some(
    (arg) => /\.tsx?$|[*]/.test(arg) || (!arg.startsWith('-') && existsSync(join(root, arg))),
  );
  const mocha = spawn(
    process.execPath,
    [
      join(root, 'node_modules', 'mocha', 'bin', 'mocha.js'),
      ...['--reporter', join(root, 'dev', 'test-reporter.mjs'), '--reporter-option', `summary=${report}`],
      ...(namesFiles ? ['--reporter-option', 'titles=true'] : []),
      ...(args.includes('--jobs') ? [] : ['--jobs', String(JOBS)]),
      ...args,
      ...(namesFiles ? [] : testFiles()),
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: {
        // Compile cache of Node 22.1 and newer, because the tests start many processes of the service.
        NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled'),
        ...process.env,
      },
    },
  );
  // Ctrl-C also reaches mocha, which stops its child processes; we only wait for it.
  const forward = (/** @type {NodeJS.Signals} */ signal) => mocha.kill(signal);
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', forward);
  const how = await new Promise((resolve, reject) => {
    mocha.on('error', reject);
    mocha.on('close', (code, signal) => resolve(signal ?? code));
  });
  /** @type {Record<string, import('./test-summary.mjs').FileSummary>} */
  const reported = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : {};
  Object.assign(summary.files, reported);
  for (const { passed, failed, skipped } of Object.values(reported)) {
    summary.passed += passed;
    summary.failed += failed;
    summary.skipped.push(...skipped);
  }
  rmSync(folder, { recursive: true, force: true });
  if (how !== 0 && Object.values(reported).every(({ failed }) => failed === 0)) {
    summary.failed++;
    process.stdout.write(`mocha ended with ${how} though no test had failed\n`);
  }
}

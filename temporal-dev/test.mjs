/**
 * `npm test`: sets the checkout up, runs the tests on real parts, and beside them the checks of its form (lint, types, import
 * rules). Arguments go to mocha; any argument leaves the checks out. The last line counts everything. A whole run also checks that its
 * tests have reached every row of operations, errors, permissions and limits (test/support/rows).
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endCommandsWithUs, run } from './progress.mjs';
import { setup } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const IMPORTING = ['src', 'api', 'activities', 'workflows', 'ops', 'temporal-dev', 'client/src', 'console/src'];
const CHECKS = [
  ['lint and types', ['oxlint', '--report-unused-disable-directives']],
  ['format', ['oxfmt', '--check', '.']],
  ['import rules', ['depcruise', '--config', '.dependency-cruiser.cjs', ...IMPORTING]],
];
/** The checks use the CPU time that the tests leave idle. */
const BACKGROUND_PRIORITY = 10;
/** Mocha's workers: most tests wait for timers and other processes most of the time. */
const JOBS = Math.max(6, 3 * availableParallelism());
/** Long files start first, so that none of them runs alone at the end. */
const LONG_FILES = [
  'faults/deploys',
  'faults/restore',
  'faults/cuts',
  'faults/kills',
  'temporal-dev/start',
  'faults/at-most-once',
  'webhooks/delivery',
  'turns/model-failures',
  'api/events/ended-streams',
  'documents',
  'faults/waiting',
  'faults/takeover',
  'faults/waiting-deploy',
  'client/stream',
  'deploy',
  'src/db/timeouts',
  'faults/reconcile',
  'faults/attachments',
  'faults/overtaken',
  'faults/files-and-skills',
  'activities/prompt/long-session',
  'turns/endings',
  'ops/doctor',
  'faults/failover',
  'faults/isolation',
  'src/skills/fuzz',
  'src/skills/bundle',
  'api/http/idempotency-crash',
  'api/files/gcs',
].map((name) => join('test', `${name}.test.ts`));

const WHOLE_RUN = process.argv.length === 2;

const counts = { passed: 0, failed: 0, skipped: [] };
const args = process.argv.slice(2);
try {
  await setup();
  const tests = runMocha();
  tests.catch(() => undefined);
  if (WHOLE_RUN) await runChecks(CHECKS);
  await tests;
} catch (error) {
  counts.failed++;
  process.stderr.write(`${error.message}\n`);
}
if (counts.skipped.length > 0) {
  process.stdout.write(`\nSkipped:\n${counts.skipped.map((title) => `  - ${withReason(title)}\n`).join('')}`);
}
const skipped = counts.skipped.length === 0 ? '' : `, ${counts.skipped.length} skipped`;
process.exitCode = counts.failed === 0 ? 0 : 1;
process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed${skipped}\n`);

/** Runs the checks one after the other. */
async function runChecks(checks) {
  const stop = endCommandsWithUs();
  for (const [title, [tool, ...options]] of checks) {
    const started = Date.now();
    const seconds = () => `${((Date.now() - started) / 1_000).toFixed(1)} s`;
    try {
      await run(join(root, 'node_modules', '.bin', tool), options, { cwd: root, priority: BACKGROUND_PRIORITY });
      counts.passed++;
      process.stdout.write(`  ✓ ${title} (${seconds()})\n`);
    } catch (error) {
      counts.failed++;
      process.stdout.write(`  ✗ ${title} (${seconds()})\n${error.output || error.message}\n`);
    }
  }
  stop();
}

/** Every test file, the long ones first. */
function testFiles() {
  const files = readdirSync(join(root, 'test'), { recursive: true })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name));
  return [...LONG_FILES.filter((file) => files.includes(file)), ...files.filter((file) => !LONG_FILES.includes(file))];
}

async function runMocha() {
  const folder = mkdtempSync(join(tmpdir(), 'agent-session-service-test-'));
  const summary = join(folder, 'summary.json');
  const namesFiles = args.some(
    (arg) => /\.tsx?$|[*]/.test(arg) || (!arg.startsWith('-') && existsSync(join(root, arg))),
  );
  const mocha = spawn(
    process.execPath,
    [
      join(root, 'node_modules', 'mocha', 'bin', 'mocha.js'),
      ...['--reporter', join(root, 'temporal-dev', 'test-reporter.mjs'), '--reporter-option', `summary=${summary}`],
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
        ...(WHOLE_RUN && { REACHED_ROWS: join(folder, 'rows') }),
      },
    },
  );
  // Ctrl-C also reaches mocha, which stops its child processes; we only wait for it.
  const forward = (signal) => mocha.kill(signal);
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', forward);
  const how = await new Promise((resolve, reject) => {
    mocha.on('error', reject);
    mocha.on('close', (code, signal) => resolve(signal ?? code));
  });
  const report = existsSync(summary)
    ? JSON.parse(readFileSync(summary, 'utf8'))
    : { passed: 0, failed: 0, skipped: [] };
  // A failed test has not reached its rows, so this check would only repeat the failure.
  if (WHOLE_RUN && how === 0)
    await runChecks([['every row', ['tsx', 'test/support/rows-cli.ts', join(folder, 'rows')]]]);
  rmSync(folder, { recursive: true, force: true });
  counts.passed += report.passed;
  counts.failed += report.failed;
  counts.skipped.push(...report.skipped);
  if (how !== 0 && report.failed === 0) {
    counts.failed++;
    process.stdout.write(`mocha ended with ${how} though no test had failed\n`);
  }
}

function withReason(title) {
  return title.includes('[skipped: ') ? title : `${title} [skipped: no reason given]`;
}

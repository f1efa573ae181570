/**
 * `npm run check:schemathesis`: makes a virtual environment with schemathesis outside of the checkout and throws what it
 * generates from the OpenAPI document at a live service. Takes python3 with venv and a package index; `npm test` only
 * says that it skips it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const VERSION = '4.32.5';
const root = fileURLToPath(new URL('../../..', import.meta.url));
const venv = join(tmpdir(), `agent-session-service-schemathesis-${VERSION}`);
const bin = join(venv, 'bin');

function run(command, args, env = process.env) {
  const { status, error } = spawnSync(command, args, { cwd: root, env, stdio: 'inherit' });
  if (error !== undefined || status !== 0) process.exit(status ?? 1);
}

if (!existsSync(join(bin, 'schemathesis'))) {
  run('python3', ['-m', 'venv', venv]);
  run(join(bin, 'python'), ['-m', 'pip', 'install', '--quiet', `schemathesis==${VERSION}`]);
}
run(process.execPath, ['node_modules/mocha/bin/mocha.js', 'test/api/http/schemathesis.test.ts'], {
  ...process.env,
  SCHEMATHESIS: join(bin, 'schemathesis'),
});

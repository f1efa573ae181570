/**
 * `npm run check -- NAME [OPTIONS]`: a check that is too long, too large or too special for `npm test`. Without a name it lists them.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const script = (/** @type {string} */ name) => ['node', '--import', 'tsx', `bench/hand/${name}.ts`];
const tests = (/** @type {string} */ name) => ['mocha', '--no-parallel', `bench/hand/${name}.ts`];
const python = (/** @type {string} */ name) => ['node', 'test/support/with-python.mjs', name];
const browser = (/** @type {string[]} */ ...files) => ['node', 'test/support/browser/run.mjs', ...files];
const CONSOLE = [
  'browser',
  'connections',
  'forks',
  'keyboard',
  'pictures',
  'talking',
  'questions',
  'money',
  'workspaces',
].map((name) => `test/console/${name}.test.ts`);

/**
 * Each check with its command, and with what it shows and needs.
 * @type {Record<string, [command: string[], description: string]>}
 */
const CHECKS = {
  console: [browser('--no-parallel', ...CONSOLE), 'drives the built console; needs Chromium'],
  chat: [browser('--no-parallel', 'test/examples/chat.long.test.ts'), 'drives examples/chat; needs Chromium'],
  'console-frames': [
    browser('--no-parallel', 'bench/hand/console-frames.ts'),
    'frames of the console with 10,000 sessions and a long turn; needs Chromium',
  ],
  'docs-page': [browser('test/docs-page.test.ts'), 'drives the page /docs; needs Chromium'],
  'openapi-clients': [
    ['mocha', '--no-parallel', 'test/generated-clients/clients.long.test.ts'],
    'generates clients for Python and Go, and uses them; needs both',
  ],
  packages: [
    ['node', 'dev/scripts/packages.mjs'],
    'packs the client of npm and the wheel, and publishes both as a dry run; --out FOLDER keeps them; needs Python 3.10',
  ],
  schemathesis: [python('schemathesis'), 'sends generated requests to every operation; needs Python'],
  'mcp-python': [python('mcp-python'), 'calls servers of the Python MCP SDK; needs Python'],
  'mcp-sdks': [
    python('mcp-sdks'),
    'OAuth, 2,000 tools and forms with servers of the MCP SDKs of three languages; needs Python and Go',
  ],
  restore: [python('pg-client'), 'restores a dump of pg_dump; needs pg_dump'],
  cluster: [tests('cluster'), 'two API and two worker processes, with alerts; needs Prometheus'],
  plain: [
    tests('plain'),
    'all of deploy/plain together: restarts, a failover, a backup; needs root, nginx, HAProxy, psql, openssl and Go',
  ],
  image: [
    tests('image'),
    'builds the image, looks at it, and runs turns in it; needs docker, and without a registry root and debootstrap',
  ],
  pooler: [tests('pooler'), 'runs behind PgBouncer; needs PgBouncer'],
  'real-cluster': [script('real-cluster'), 'kills a worker that holds 200 model calls; --temporal, --minutes N'],
  'full-load': [script('full-load'), 'how close the lease of a worker under full load comes to its end; --minutes N'],
  'open-questions': [script('open-questions'), 'what open questions of one project cost the turns of another'],
  'waiting-tasks': [script('waiting-tasks'), 'what open tasks of one project cost the turns of another'],
  'waiting-authorizations': [
    script('waiting-authorizations'),
    'what 1,000 calls cost that wait for their users, and how soon they are sent',
  ],
  schedules: [tests('schedules-each-minute'), 'what 100 schedules of every minute cost another project'],
  'webhook-backlog': [tests('webhook-backlog'), 'a million pending deliveries of one project'],
  'webhook-retries': [tests('webhook-retries'), '100,000 failed deliveries that one project sends again'],
  terraform: [['sh', 'deploy/gcp/check.sh'], 'validates deploy/gcp; needs Terraform and Go'],
  manifests: [
    ['go', '-C', 'deploy/kubernetes/check', 'test', '-v', '-count=1', '-gcflags=all=-N -l', '.'],
    'creates deploy/kubernetes on a real API server and runs commands in sandboxes over it; needs Go, 15 minutes the first time',
  ],
};

const [name = '', ...options] = process.argv.slice(2);
const [command, ...args] = CHECKS[name]?.[0] ?? [];
if (command === undefined) {
  const rows = Object.entries(CHECKS).map(([known, [, description]]) => `  ${known.padEnd(24)} ${description}\n`);
  process.stderr.write(`npm run check -- NAME [OPTIONS]\n\n${rows.join('')}`);
  process.exitCode = 1;
} else {
  const path = `${join(root, 'node_modules', '.bin')}:${process.env.PATH}`;
  const child = spawn(command, [...args, ...options], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, PATH: path },
  });
  child.on('error', (error) => {
    process.stderr.write(`${command} cannot be run: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('close', (code) => (process.exitCode = code ?? 1));
}

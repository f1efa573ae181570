/** The environment in which the Python client is built and tested: .data/python-client, with the packages of python/pyproject.toml. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { acquireLock } from './lock.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
export const project = join(root, 'python');
const CANDIDATES = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python3.10'];
const IS_NEW_ENOUGH = 'import sys, venv; sys.exit(sys.version_info < (3, 10))';

/**
 * Prepares the environment and makes the client's modules from the OpenAPI document.
 * @returns {Promise<Environment>}
 */
export async function preparePythonClient() {
  const requirements = packages(readFileSync(join(project, 'pyproject.toml'), 'utf8'));
  return prepareEnvironment('python-client', requirements, (bin) => run(join(bin, 'python'), ['-m', 'generate']));
}

/**
 * Prepares .data/NAME with these packages, where Python and an index have them.
 * @typedef {{ bin: string, missing: null } | { bin: null, missing: string }} Environment the folder of its programs, or what this machine lacks
 * @param {string} name
 * @param {string[]} requirements as pip names them
 * @param {(bin: string) => void} [then] runs under the lock of the environment
 * @returns {Promise<Environment>}
 */
export async function prepareEnvironment(name, requirements, then = () => undefined) {
  const python = CANDIDATES.find(
    (command) => spawnSync(command, ['-c', IS_NEW_ENOUGH], { stdio: 'ignore' }).status === 0,
  );
  if (python === undefined) return { bin: null, missing: 'python3 of version 3.10 or later, with venv, is not here' };
  const folder = join(root, '.data', name);
  const bin = join(folder, 'bin');
  const release = await acquireLock(`${folder}.lock`, `installing the Python packages of ${name}`, () => undefined);
  try {
    const stamp = join(folder, 'stamp');
    const wanted = createHash('sha256').update(requirements.join('\n')).digest('hex');
    if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
      const problem = install(python, folder, requirements);
      if (problem !== null) return { bin: null, missing: problem };
      writeFileSync(stamp, wanted);
    }
    then(bin);
  } finally {
    release();
  }
  return { bin, missing: null };
}

/**
 * @param {string} python
 * @param {string} folder
 * @param {string[]} requirements
 * @returns {string | null} why it is not possible
 */
function install(python, folder, requirements) {
  rmSync(folder, { recursive: true, force: true });
  if (spawnSync(python, ['-m', 'venv', folder], { stdio: 'ignore' }).status !== 0)
    return 'python3 cannot make an environment';
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--retries', '1', '--timeout', '10'];
  const { status, stderr } = spawnSync(join(folder, 'bin', 'python'), [...pip, ...requirements], { encoding: 'utf8' });
  const why = () => stderr.trim().split('\n').at(-1)?.slice(0, 200) ?? '';
  return status === 0 ? null : `its Python packages cannot be had: ${why()}`;
}

/**
 * What the client depends on, and what builds and checks it.
 * @param {string} text pyproject.toml
 * @returns {string[]} as pip names them
 */
function packages(text) {
  const lists = [/^requires = (\[[^\]]*\])/m, /^dependencies = (\[[^\]]*\])/m, /^dev = (\[[^\]]*\])/m];
  return lists.flatMap((list) => {
    const [, names = ''] = list.exec(text) ?? [];
    return [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name);
  });
}

/**
 * Runs a program in python/.
 * @param {string} command
 * @param {string[]} args
 * @returns {string} its output
 * @throws Error with its output if it fails
 */
export function run(command, args) {
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd: project, encoding: 'utf8' });
  if (error !== undefined || status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? `${stdout}${stderr}`}`);
  return stdout;
}

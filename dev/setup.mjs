import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { fetchBubblewrap } from './bubblewrap.mjs';
import { build, isBuildCurrent } from './build.mjs';
import { acquireLock } from './lock.mjs';
import { endCommandsWithUs, messageOf, run, step } from './progress.mjs';
import { cacheDir, temporalCli } from '../temporal-dev/temporal-cli.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Prepares a checkout: locked dependencies, compiled code, with `temporal` a Temporal server, and with `bubblewrap` the program
 * in which commands of sandboxes run, where it can be had. Skips steps that are already done.
 * Plain Node without packages, because it runs before anything is installed.
 */
export async function setup({ temporal = !process.env.TEMPORAL_ADDRESS, bubblewrap = false } = {}) {
  checkNode();
  const stop = endCommandsWithUs();
  const lock = join(cacheDir(), 'setup', `${createHash('sha256').update(root).digest('hex').slice(0, 16)}.lock`);
  const release = await acquireLock(lock, 'setting up this checkout');
  try {
    if (!dependenciesAreCurrent()) await step('Installing the locked dependencies', install);
    if (!isBuildCurrent()) await step('Building', build);
  } finally {
    release();
  }
  if (temporal) await temporalCli();
  const problem = bubblewrap ? await fetchBubblewrap() : null;
  if (problem !== null) process.stderr.write(`${problem}\n`);
  stop();
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new Error(`Node ${process.versions.node} is too old: this service needs 20.19 or newer.`);
  }
}

/**
 * Compares the lock file with what npm says it installed. Packages of the lock file that are not installed must be
 * optional (those of other platforms).
 */
function dependenciesAreCurrent() {
  const installedFile = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installedFile)) return false;
  const { packages: locked } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { packages: installed } = JSON.parse(readFileSync(installedFile, 'utf8'));
  return Object.entries(locked).every(([path, { version, integrity, optional }]) => {
    if (path === '') return true;
    const found = installed[path];
    return found === undefined ? optional === true : found.version === version && found.integrity === integrity;
  });
}

async function install() {
  await run('npm', ['ci', '--no-audit', '--no-fund', '--include=dev'], { cwd: root });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    await setup({ bubblewrap: true });
    process.stderr.write('Everything is in place. `npm start` starts it.\n');
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exitCode = 1;
  }
}

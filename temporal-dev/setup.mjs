import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { acquireLock } from './lock.mjs';
import { endCommandsWithUs, run, step } from './progress.mjs';
import { cacheDir, temporalCli } from './temporal-cli.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const SOURCE_FOLDERS = ['src', 'api', 'workflows', 'activities', 'temporal-dev'];
const SOURCE_FILES = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
const STAMP = join(root, 'dist', '.build-stamp.json');

/**
 * Makes a checkout ready to run: locked dependencies, compiled code, a Temporal server. Does only what is missing.
 * Plain Node on purpose: it is what runs before anything is installed.
 */
export async function setup() {
  checkNode();
  const stop = endCommandsWithUs();
  let told = false;
  const lock = join(cacheDir(), 'setup', `${createHash('sha256').update(root).digest('hex').slice(0, 16)}.lock`);
  const release = await acquireLock(lock, 'setting up this checkout', ({ pid }) => {
    if (!told) process.stderr.write(`Waiting for process ${pid}, which is setting up this checkout …\n`);
    told = true;
  });
  try {
    if (!dependenciesAreCurrent()) await step('Installing the locked dependencies', install);
    const stamp = sourceStamp();
    if (!buildIsCurrent(stamp)) await step('Building', () => build(stamp));
  } finally {
    release();
    stop();
  }
  const stopAgain = endCommandsWithUs();
  if (!process.env.TEMPORAL_ADDRESS) await temporalCli();
  stopAgain();
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
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

/** What the compiled code depends on: each file and its content (a checkout changes times, not contents). */
function sourceStamp() {
  const files = SOURCE_FOLDERS.flatMap((folder) =>
    existsSync(join(root, folder))
      ? readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name))
      : [],
  )
    .filter((name) => name.endsWith('.ts'))
    .concat(SOURCE_FILES)
    .sort();
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  return { hash: hash.digest('hex'), files };
}

function readStamp() {
  return existsSync(STAMP) ? JSON.parse(readFileSync(STAMP, 'utf8')) : { hash: '', files: [] };
}

function buildIsCurrent({ hash }) {
  return readStamp().hash === hash;
}

async function build(stamp) {
  // A file that left the sources must leave the build too, a migration above all: only then start from nothing.
  const current = new Set(stamp.files);
  if (readStamp().files.some((file) => !current.has(file)))
    rmSync(join(root, 'dist'), { recursive: true, force: true });
  await run('npm', ['run', '--silent', 'build'], { cwd: root });
  mkdirSync(join(root, 'dist'), { recursive: true });
  writeFileSync(STAMP, JSON.stringify(stamp));
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    await setup();
    process.stderr.write('Everything is in place. `npm start` starts it.\n');
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

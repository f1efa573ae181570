import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { acquireLock } from '#dev/lock.mjs';
import { run, step } from '#dev/progress.mjs';
import { cacheDir } from '#temporal-dev/temporal-cli.mjs';
import { THIS_BUILD } from './role-process.js';

/**
 * The first commit whose schema a release can be upgraded from: the last release until there is a tag. UPGRADE_FROM takes another
 * commit, or the folder of a checkout that is built.
 */
const FIRST = '1db22e794cbb0dce239409bd771cee4d0a19817f';

/** The last release, built once a machine and user; null if this checkout has no git history that leads to it. */
export async function lastRelease(): Promise<{ folder: string; commit: string } | null> {
  const wanted = process.env.UPGRADE_FROM ?? newestTag() ?? FIRST;
  if (existsSync(join(wanted, 'dist', 'api', 'main.js')))
    return { folder: wanted, commit: git('-C', wanted, 'rev-parse', 'HEAD') ?? wanted };
  const commit = git('rev-parse', '--verify', '--quiet', `${wanted}^{commit}`);
  if (commit === null) return null;
  const builds = join(cacheDir(), 'builds');
  const folder = join(builds, commit);
  mkdirSync(builds, { recursive: true });
  const release = await acquireLock(join(builds, 'lock'), 'building an earlier version');
  try {
    if (!existsSync(folder)) await step(`Building ${commit.slice(0, 8)}`, () => build(commit, folder));
    await ensureDependencies(folder);
  } finally {
    release();
  }
  return { folder, commit };
}

/** Runs a command of operators (`migrate`, `keys`, …) of the build in `folder`; resolves with what it printed. */
export function runCommandOf(folder: string, databaseUrl: string, name: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, DATABASE_URL: databaseUrl };
  return run(process.execPath, [join(folder, 'dist', 'ops', `${name}.js`), ...args], { cwd: folder, env });
}

/** Creates a key with the command of the build in `folder`; resolves with the key. */
export async function createKeyOf(folder: string, databaseUrl: string, ...args: string[]): Promise<string> {
  return /^\S{30,}$/m.exec(await runCommandOf(folder, databaseUrl, 'keys', 'create', ...args))![0];
}

async function build(commit: string, folder: string): Promise<void> {
  const draft = `${folder}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft);
  const archive = execFileSync('git', ['archive', commit], { cwd: THIS_BUILD, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', draft], { input: archive });
  await ensureDependencies(draft);
  await run(process.execPath, ['--import', 'tsx', 'dev/scripts/openapi-document.ts'], { cwd: draft });
  await run(process.execPath, ['dev/build.mjs'], { cwd: draft });
  renameSync(draft, folder);
}

/**
 * Gives the build its packages: those of this checkout if both have the same lock file, else its own. The build outlives the
 * checkout that made it, so a link to the packages of another checkout is replaced.
 */
async function ensureDependencies(folder: string): Promise<void> {
  const packages = join(folder, 'node_modules');
  const entry = lstatSync(packages, { throwIfNoEntry: false });
  if (entry?.isDirectory()) return;
  if (entry) unlinkSync(packages);
  const lock = (at: string): string => readFileSync(join(at, 'package-lock.json'), 'utf8');
  if (lock(folder) === lock(THIS_BUILD)) symlinkSync(join(THIS_BUILD, 'node_modules'), packages);
  else await step('Installing its packages', () => run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder }));
}

function newestTag(): string | null {
  return git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^');
}

function git(...args: string[]): string | null {
  try {
    return execFileSync('git', args, { cwd: THIS_BUILD, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return null;
  }
}

import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { cacheDir } from '../temporal-dev/temporal-cli.mjs';
import { acquireLock } from './lock.mjs';
import { messageOf, run, step } from './progress.mjs';

const TIMEOUT_MS = 60_000;

/**
 * Fetches bubblewrap, in which commands of sandboxes run, where it is missing: from the system's own packages, without root
 * rights. It is kept in the cache folder. Returns null, or a sentence that says why there is none: everything else works without.
 * @returns {Promise<string | null>}
 */
export async function fetchBubblewrap() {
  if (process.platform !== 'linux') return null;
  const home = join(cacheDir(), 'bubblewrap');
  if (hasBubblewrap()) return null;
  try {
    mkdirSync(home, { recursive: true });
    const release = await acquireLock(join(home, 'lock'), 'fetching bubblewrap');
    try {
      if (!hasBubblewrap()) await step('Fetching bubblewrap from the packages of the system', () => obtain(home));
    } finally {
      release();
    }
    return null;
  } catch (error) {
    return `bubblewrap could not be fetched, so sandboxes are off until it is installed. Nothing else needs it. ${messageOf(error)}`;
  }
}

/**
 * Whether this machine has what a sandbox needs: bubblewrap, and namespaces for an ordinary user. It asks the kernel, not the
 * service, whose tests are skipped where the service finds that no sandbox can run.
 */
export async function canRunSandboxes() {
  if (process.platform !== 'linux' || !hasBubblewrap()) return false;
  const asNobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'];
  const namespaces = [
    'unshare',
    '--user',
    '--map-root-user',
    '--pid',
    '--net',
    '--mount',
    '--fork',
    '--mount-proc',
    'true',
  ];
  const [command = '', ...args] = [...(process.getuid?.() === 0 ? asNobody : []), ...namespaces];
  return run(command, args, { cwd: '/', timeoutMs: TIMEOUT_MS }).then(
    () => true,
    () => false,
  );
}

function hasBubblewrap() {
  const folders = (process.env.PATH ?? '').split(delimiter).concat(join(cacheDir(), 'bubblewrap'));
  return folders.some((folder) => existsSync(join(folder, 'bwrap')));
}

/**
 * The binary gets its final name last, so a file with that name is complete.
 * @param {string} home
 */
async function obtain(home) {
  const temp = mkdtempSync(join(tmpdir(), 'bubblewrap-'));
  try {
    // apt-get may give up its rights as root, and then must be able to write here.
    chmodSync(temp, 0o777);
    await run('apt-get', ['download', 'bubblewrap'], { cwd: temp, timeoutMs: TIMEOUT_MS });
    const name = readdirSync(temp).find((file) => file.endsWith('.deb'));
    if (name === undefined) throw new Error('apt-get has no package bubblewrap');
    await run('dpkg', ['-x', name, 'unpacked'], { cwd: temp, timeoutMs: TIMEOUT_MS });
    const copy = join(home, `new-${process.pid}`);
    copyFileSync(join(temp, 'unpacked', 'usr', 'bin', 'bwrap'), copy);
    chmodSync(copy, 0o755);
    renameSync(copy, join(home, 'bwrap'));
  } finally {
    rmSync(temp, { recursive: true, force: true });
  }
}

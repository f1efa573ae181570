import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { acquireLock } from '../../dev/lock.mjs';
import { run, step } from '../../dev/progress.mjs';
import { cacheDir } from '../../temporal-dev/temporal-cli.mjs';

const VERSION = '1.56.1';
const MODULE = `github.com/fsouza/fake-gcs-server@v${VERSION}`;
const HOME = join(cacheDir(), `fake-gcs-server-${VERSION}`);

export const EMULATOR = join(HOME, 'fake-gcs-server');

/** Builds the emulator once per machine and user, which takes about a minute. Does nothing without Go. */
export async function buildEmulator() {
  if (existsSync(EMULATOR) || !(await hasGo())) return;
  mkdirSync(HOME, { recursive: true });
  const release = await acquireLock(join(HOME, 'lock'), 'building fake-gcs-server', () => undefined);
  const work = mkdtempSync(join(HOME, 'new-'));
  try {
    if (existsSync(EMULATOR)) return;
    const env = { ...process.env, GOBIN: work, GOWORK: 'off' };
    await step(`Building fake-gcs-server ${VERSION} with Go (once)`, () =>
      run('go', ['install', MODULE], { cwd: work, env }),
    );
    // A file of this name is always complete.
    renameSync(join(work, 'fake-gcs-server'), EMULATOR);
  } finally {
    rmSync(work, { recursive: true, force: true });
    release();
  }
}

function hasGo() {
  return run('go', ['version']).then(
    () => true,
    () => false,
  );
}

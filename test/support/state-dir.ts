import { chmodSync, existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MIB } from '../../src/platform/units.js';
import { removeAfterUs } from '../../dev/server-process.js';

const MEMORY = '/dev/shm';
/** The run's Postgres takes about a quarter of it. Containers often have 64 MiB there. */
const MIN_MEMORY_BYTES = 2048 * MIB;

/**
 * A new folder for the state of embedded servers, removed when this process is gone and they have ended. Others may
 * pass through it: as root, Postgres runs as another user.
 */
export function makeStateDir(parent = tmpdir()): string {
  const dir = mkdtempSync(join(parent, 'agent-session-service-'));
  chmodSync(dir, 0o711);
  removeAfterUs(dir);
  return dir;
}

/**
 * Such a folder in memory if there is room, for servers whose databases come and go: each is 330 files. On ext4 it takes
 * Postgres 330 ms of CPU to create one and drop it, because ext4 steps over inodes that were just freed; in memory 17 ms.
 */
export function makeMemoryStateDir(): string {
  if (!existsSync(MEMORY)) return makeStateDir();
  const { bavail, bsize } = statfsSync(MEMORY);
  return makeStateDir(bavail * bsize < MIN_MEMORY_BYTES ? tmpdir() : MEMORY);
}

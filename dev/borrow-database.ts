import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { acquireLock, lockHolder } from '#dev/lock.mjs';
import { embeddedDatabaseUrl, postgresAnswers, startPostgres } from './embedded-postgres.js';

const BORROW_TIMEOUT_MS = 60_000;
const POLL_MS = 100;

/** The lock of the process that uses the state under `dataDir`. */
export function dataDirLock(dataDir: string): string {
  return join(dataDir, 'lock');
}

/** Whether `npm start` runs on `dataDir`. */
export function isServiceRunning(dataDir: string): boolean {
  return lockHolder(dataDirLock(dataDir))?.role === 'start';
}

/** Runs `work` on the embedded database of `dataDir`: the running one, or one started for this call. */
export async function withEmbeddedDatabase<T>(dataDir: string, work: (url: string) => Promise<T>): Promise<T> {
  for (;;) {
    const running = await runningDatabase(dataDir);
    if (running !== null) return work(running);
    const release = await lockUnlessServiceStarts(dataDir);
    if (release === null) continue;
    try {
      const postgres = await startPostgres({ dataDir });
      try {
        return await work(postgres.url);
      } finally {
        await postgres.server.stop();
      }
    } finally {
      release();
    }
  }
}

/** The database of the service that runs or starts on `dataDir`, once it answers; null if no service runs. */
async function runningDatabase(dataDir: string): Promise<string | null> {
  for (const deadline = Date.now() + BORROW_TIMEOUT_MS; Date.now() < deadline; await sleep(POLL_MS)) {
    if (!isServiceRunning(dataDir)) return null;
    const url = embeddedDatabaseUrl(dataDir);
    if (url !== null && (await postgresAnswers(url))) return url;
  }
  throw new Error(`The service runs on ${dataDir}, but its database does not answer. See postgres.log in that folder.`);
}

/** Takes the lock; null if `npm start` took it first. */
async function lockUnlessServiceStarts(dataDir: string): Promise<(() => void) | null> {
  try {
    return await acquireLock(dataDirLock(dataDir), 'borrow', (holder) => {
      if (holder.role === 'start') throw new ServiceStarted();
    });
  } catch (error) {
    if (error instanceof ServiceStarted) return null;
    throw error;
  }
}

class ServiceStarted extends Error {}

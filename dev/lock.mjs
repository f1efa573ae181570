import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processIdentity } from './processes.mjs';

const POLL_MS = 100;

/**
 * Takes a lock file. The file names the process that holds it; the lock of a process that no longer runs is ignored.
 * @param {string} path
 * @param {string} role what the holder is doing
 * @param {(holder: { pid: number, role: string }) => void} onBusy called every time the lock is found taken; what it
 *   throws ends the wait. Default: says once what it waits for
 * @returns {Promise<() => void>} releases the lock
 */
export async function acquireLock(path, role, onBusy = createReport()) {
  const mine = JSON.stringify({ pid: process.pid, started: processIdentity(process.pid), role });
  const draft = `${path}.${process.pid}`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(draft, mine);
  try {
    for (;;) {
      try {
        linkSync(draft, path);
        return () => {
          if (readLock(path)?.text === mine) rmSync(path, { force: true });
        };
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
      }
      const holder = readLock(path);
      if (holder?.alive) {
        onBusy({ pid: holder.pid, role: holder.role });
        await sleep(POLL_MS);
      } else if (holder !== null) {
        breakStale(path, holder.text);
      }
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** @returns {(holder: { pid: number, role: string }) => void} */
function createReport() {
  let isReported = false;
  return ({ pid, role }) => {
    if (!isReported) process.stderr.write(`Waiting for process ${pid}, which is ${role} …\n`);
    isReported = true;
  };
}

/**
 * The living holder of a lock, or null.
 * @param {string} path
 * @returns {{ pid: number, role: string } | null}
 */
export function lockHolder(path) {
  const holder = readLock(path);
  return holder?.alive ? { pid: holder.pid, role: holder.role } : null;
}

/**
 * @param {string} path
 * @returns {{ text: string, pid: number, role: string, alive: boolean } | null}
 */
function readLock(path) {
  let text;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
  try {
    const { pid, started, role } = JSON.parse(text);
    return { text, pid, role, alive: processIdentity(pid) === started };
  } catch {
    return { text, pid: 0, role: 'unknown', alive: false };
  }
}

/**
 * Two processes may break the same stale lock. A process that moved a fresh lock aside by accident restores it.
 * @param {string} path
 * @param {string} staleText
 */
function breakStale(path, staleText) {
  const aside = `${path}.${process.pid}.stale`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  if (readFileSync(aside, 'utf8') !== staleText) linkSync(aside, path);
  rmSync(aside, { force: true });
}

/** @param {unknown} error */
function codeOf(error) {
  return /** @type {NodeJS.ErrnoException} */ (error).code;
}

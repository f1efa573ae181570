import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** @typedef {{ pid: number, started: string | null, signal: NodeJS.Signals }} ServerRecord */

const TIMEOUT_MS = 5_000;
const POLL_MS = 20;

/**
 * Returns the start time of a process, which distinguishes it from a later one with the same id. Returns null if it does
 * not run. A zombie counts as gone, because in a container it may never be reaped.
 * @param {number} pid
 * @returns {string | null}
 */
export function processIdentity(pid) {
  if (process.platform === 'linux') {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
    } catch {
      return null;
    }
  }
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || null;
  } catch {
    return null;
  }
}

/**
 * Ends a server whose starter is gone: with its signal, and with SIGKILL if it still runs after five seconds. A later process
 * with the same id is left alone.
 * @param {ServerRecord} server
 */
export async function endProcess({ pid, started, signal }) {
  const isRunning = () => started !== null && processIdentity(pid) === started;
  if (!isRunning()) return;
  process.kill(pid, signal);
  const deadline = Date.now() + TIMEOUT_MS;
  while (isRunning() && Date.now() < deadline) await sleep(POLL_MS);
  if (isRunning()) process.kill(pid, 'SIGKILL');
}

import { setTimeout as sleep } from 'node:timers/promises';

const TIMEOUT_MS = 5_000;
const POLL_MS = 20;

/**
 * Ends a process that somebody else started: with the signal, and with SIGKILL if it still runs after five seconds.
 * @param {number} pid
 * @param {NodeJS.Signals} signal
 * @param {() => boolean} isRunning tells it from a later process with the same id
 */
export async function endProcess(pid, signal, isRunning) {
  if (!isRunning()) return;
  process.kill(pid, signal);
  const deadline = Date.now() + TIMEOUT_MS;
  while (isRunning() && Date.now() < deadline) await sleep(POLL_MS);
  if (isRunning()) process.kill(pid, 'SIGKILL');
}

import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';

const QUIET_MS = 1_000;
const REMINDER_MS = 20_000;

/**
 * Runs `work` and says so if it takes longer than a second, again every twenty seconds, and when it has ended. Writes to
 * standard error, so that a command's own output stays clean.
 * @template T
 * @param {string} title
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(title, work) {
  const started = Date.now();
  const seconds = () => ((Date.now() - started) / 1_000).toFixed(1);
  let isShown = false;
  const first = setTimeout(() => {
    process.stderr.write(`${title} …\n`);
    isShown = true;
  }, QUIET_MS);
  const reminders = setInterval(() => process.stderr.write(`${title} … ${seconds()} s\n`), REMINDER_MS);
  let outcome = 'failed';
  try {
    const result = await work();
    outcome = 'done';
    return result;
  } finally {
    clearTimeout(first);
    clearInterval(reminders);
    if (isShown) process.stderr.write(`${title}: ${outcome} after ${seconds()} s\n`);
  }
}

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();

/** A command of the set-up that failed; `output` is what it printed. */
export class CommandError extends Error {
  /**
   * @param {string} command
   * @param {string | number} reason
   * @param {string} output
   */
  constructor(command, reason, output) {
    super(`${command} failed (${reason})${output === '' ? '' : `:\n${output}`}`);
    this.name = 'CommandError';
    this.output = output;
  }
}

/**
 * The sentence to print for something that was thrown.
 * @param {unknown} error
 */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/**
 * What to print of a check that failed: the output of its command, which says more than the command's name.
 * @param {unknown} error
 */
export function outputOf(error) {
  return error instanceof CommandError && error.output !== '' ? error.output : messageOf(error);
}

/**
 * Runs a command to its end and returns what it printed (both streams).
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, timeoutMs?: number, priority?: number }} [options]
 * @returns {Promise<string>}
 * @throws {CommandError} when it cannot be run or its exit code is not 0
 */
export function run(command, args, { cwd, env, timeoutMs, priority } = {}) {
  const name = [command, ...args].join(' ');
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, timeout: timeoutMs, stdio: ['ignore', 'pipe', 'pipe'] });
    if (priority !== undefined && child.pid !== undefined) setPriority(child.pid, priority);
    /** @type {Buffer[]} */
    const chunks = [];
    const printed = () => Buffer.concat(chunks).toString('utf8').trimEnd();
    running.add(child);
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.stderr.on('data', (chunk) => chunks.push(chunk));
    child.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      running.delete(child);
      reject(new CommandError(name, error.code ?? error.message, printed()));
    });
    child.on('close', (code, signal) => {
      running.delete(child);
      if (code === 0) resolve(printed());
      else reject(new CommandError(name, signal ?? `exit code ${code}`, printed()));
    });
  });
}

/**
 * Ends running commands together with this process. Otherwise a signal to this process alone would leave an installation
 * or a build running.
 * @returns {() => void} removes the handlers
 */
export function endCommandsWithUs() {
  const handlers = ['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => {
    const handler = () => {
      for (const child of running) child.kill('SIGTERM');
      process.removeListener(signal, handler);
      process.kill(process.pid, signal);
    };
    process.on(signal, handler);
    return () => process.removeListener(signal, handler);
  });
  return () => handlers.forEach((remove) => remove());
}

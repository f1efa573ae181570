import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const QUIET_MS = 1_000;
const REMINDER_MS = 20_000;

/**
 * Runs `work` and shows its progress if it takes longer than a second: a spinner on a terminal, lines elsewhere. Writes
 * to standard error, so that a command's own output stays clean.
 * @template T
 * @param {string} title
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(title, work) {
  const started = Date.now();
  const seconds = () => ((Date.now() - started) / 1_000).toFixed(1);
  const terminal = process.stderr.isTTY;
  let shown = false;
  let reminded = started;
  let frame = 0;
  const timer = setInterval(
    () => {
      const now = Date.now();
      if (now - started < QUIET_MS) return;
      if (terminal) {
        process.stderr.write(
          `\r\x1b[K${FRAMES[frame++ % FRAMES.length]} ${title} … ${Math.floor((now - started) / 1_000)} s`,
        );
      } else if (!shown) {
        process.stderr.write(`${title} …\n`);
      } else if (now - reminded >= REMINDER_MS) {
        reminded = now;
        process.stderr.write(`${title} … ${Math.floor((now - started) / 1_000)} s\n`);
      }
      shown = true;
    },
    terminal ? 100 : 250,
  );
  const finish = (outcome) => {
    clearInterval(timer);
    if (shown) process.stderr.write(`${terminal ? '\r\x1b[K' : ''}${title}: ${outcome} after ${seconds()} s\n`);
  };
  try {
    const result = await work();
    finish('done');
    return result;
  } catch (error) {
    finish('failed');
    throw error;
  }
}

const running = new Set();

/** A command of the set-up that failed; `output` is what it printed. */
export class CommandError extends Error {
  constructor(command, reason, output) {
    super(`${command} failed (${reason})${output === '' ? '' : `:\n${output}`}`);
    this.name = 'CommandError';
    this.output = output;
  }
}

/**
 * Runs a command to its end and returns what it printed (both streams).
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, timeoutMs?: number, priority?: number }} [options]
 * @throws {CommandError} when it cannot be run or its exit code is not 0
 */
export function run(command, args, { cwd, env, timeoutMs, priority } = {}) {
  const name = [command, ...args].join(' ');
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, timeout: timeoutMs, stdio: ['ignore', 'pipe', 'pipe'] });
    if (priority !== undefined && child.pid !== undefined) setPriority(child.pid, priority);
    const chunks = [];
    const printed = () => Buffer.concat(chunks).toString('utf8').trimEnd();
    running.add(child);
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.stderr.on('data', (chunk) => chunks.push(chunk));
    child.on('error', (error) => {
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

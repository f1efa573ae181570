import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess, processIdentity, type ServerRecord } from '#dev/processes.mjs';
import { readKept, writeKept } from './data-dir.js';
import { ignored } from '../src/platform/ignored.js';

/** How to run a server. */
interface ServerCommand {
  command: string;
  args: string[];
  /** Folder and name of its log (`.log`) and of the record of its process (`.pid`). */
  dataDir: string;
  name: string;
  /** The signal for a graceful shutdown. */
  stopSignal: NodeJS.Signals;
  /** It is killed this long after the signal. */
  stopTimeoutMs?: number;
  /**
   * It is a program of this project: it runs in our folder, prints where we print and not into a log file, may wait for any time
   * before it answers, and its event `disconnect` says that we are gone.
   */
  isOurs?: boolean;
  env?: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
}

const READY_POLL_MS = 25;
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 5_000;
const ATTEMPTS = 3;
const ATTEMPT_PAUSE_MS = 400;
const LOG_TAIL = 2_000;

/**
 * A server in a child process. It can be stopped, killed, and restarted with the same port and data. It has its own
 * process session, so that Ctrl-C reaches only us and we decide the order of the shutdown.
 */
export class EmbeddedServer {
  readonly #name: string;
  readonly #command: ServerCommand;
  readonly #isReady: () => Promise<boolean>;
  #child: ChildProcess | null = null;
  #wanted = true;

  private constructor(name: string, command: ServerCommand, isReady: () => Promise<boolean>) {
    this.#name = name;
    this.#command = command;
    this.#isReady = isReady;
  }

  /**
   * Starts the server and waits until it answers.
   * @throws if it exits or does not answer within a minute; the message has the end of its log
   */
  static async start(name: string, command: ServerCommand, isReady: () => Promise<boolean>): Promise<EmbeddedServer> {
    const server = new EmbeddedServer(name, command, isReady);
    await server.#launch();
    return server;
  }

  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error(`${this.#name} does not run`);
    return this.#child.pid;
  }

  /** Resolves with the exit code or signal when the current process ends. */
  async ended(): Promise<string> {
    const child = this.#child;
    if (child === null) return 'not running';
    if (!hasEnded(child)) await once(child, 'exit');
    return child.signalCode ?? `exit code ${child.exitCode}`;
  }

  /** Stops it gracefully; kills it after its timeout. */
  async stop(): Promise<void> {
    this.#wanted = false;
    const { stopSignal, stopTimeoutMs = STOP_TIMEOUT_MS } = this.#command;
    const timer = setTimeout(() => this.#child?.kill('SIGKILL'), stopTimeoutMs);
    await this.#end(stopSignal);
    clearTimeout(timer);
  }

  /** Kills it, as a crash would. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === null || hasEnded(child)) return;
    child.ref();
    child.kill(signal);
    await this.ended();
  }

  /** Restarts it with the same port and data. */
  async restart(): Promise<void> {
    await this.stop();
    this.#wanted = true;
    await this.#launch();
  }

  /**
   * Retries if another program exits at once: sockets and shared memory of the process before it may not be free yet, or
   * another process may hold the port for a moment.
   */
  async #launch(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#spawn();
        return;
      } catch (error) {
        if (!(error instanceof EndedAtOnce) || this.#command.isOurs || attempt === ATTEMPTS || !this.#wanted)
          throw error;
        await sleep(ATTEMPT_PAUSE_MS);
      }
    }
  }

  async #spawn(): Promise<void> {
    const { command, args, dataDir, name, env, uid, gid, stopSignal, isOurs = false } = this.#command;
    const logFile = join(dataDir, `${name}.log`);
    const log = isOurs ? null : openSync(logFile, 'a', 0o600);
    const stdio: StdioOptions = log === null ? ['ignore', 'inherit', 'inherit', 'ipc'] : ['ignore', log, log];
    const child = spawn(command, args, { detached: true, stdio, cwd: isOurs ? undefined : '/', env, uid, gid });
    if (log !== null) closeSync(log);
    const failed = new Promise<never>((_, reject) => child.once('error', reject));
    failed.catch(ignored('who waits until it is ready has the error'));
    if (child.pid !== undefined) record(dataDir, name, child.pid, stopSignal);
    if (!isOurs) child.unref();
    this.#child = child;
    const deadline = isOurs ? Number.POSITIVE_INFINITY : Date.now() + READY_TIMEOUT_MS;
    const ready = async (): Promise<void> => {
      while (!(await this.#isReady())) {
        if (hasEnded(child))
          throw new EndedAtOnce(
            `${this.#name} ended at once (${await this.ended()}). ${isOurs ? 'See its output above.' : endOfLog(logFile)}`,
          );
        if (Date.now() > deadline) throw new Error(`${this.#name} does not answer. ${endOfLog(logFile)}`);
        await sleep(READY_POLL_MS);
      }
    };
    try {
      await Promise.race([ready(), failed]);
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }
}

/** Both the guard and the next start end the server when we are gone without having stopped it. */
function record(dataDir: string, name: string, pid: number, signal: NodeJS.Signals): void {
  const server: ServerRecord = { pid, started: processIdentity(pid), signal };
  writeKept(dataDir, `${name}.pid`, JSON.stringify(server));
  sendToGuard({ end: server });
}

/** Ends the server of this name that an earlier process has left running, should its guard be gone too or not yet be done. */
export async function endLeftBehind(dataDir: string, name: string): Promise<void> {
  const server = readKept(dataDir, `${name}.pid`);
  if (server !== null) await endProcess(JSON.parse(server) as ServerRecord);
}

class EndedAtOnce extends Error {
  override readonly name = 'EndedAtOnce';
}

/** Removes `path` after this process and its servers have ended. */
export function removeAfterUs(path: string): void {
  sendToGuard({ remove: path });
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}

function endOfLog(logFile: string): string {
  return `The end of ${logFile}:\n${readFileSync(logFile, 'utf8').slice(-LOG_TAIL).trimEnd()}`;
}

let guard: Writable | null = null;

/**
 * Sends a command to the guard, one process for all servers of this process. When we die, the kernel closes the pipe, and
 * the guard ends the servers.
 */
function sendToGuard(order: { end: ServerRecord } | { remove: string }): void {
  if (guard === null) {
    const script = createRequire(import.meta.url).resolve('#dev/guard.mjs');
    const child = spawn(process.execPath, [script], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: '/',
      env: {},
    });
    child.unref();
    guard = child.stdin;
    (guard as Writable & { unref(): void }).unref();
    guard.on('error', () => undefined);
  }
  guard.write(`${JSON.stringify(order)}\n`);
}

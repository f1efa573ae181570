import { spawn, type StdioOptions } from 'node:child_process';
import { open, readFile, writeFile, type FileHandle } from 'node:fs/promises';
import type { Duplex, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxFailedError, type CommandEnd, type CommandIo, type Stopped } from '../../../src/workspaces/sandbox.js';
import { ignored } from '../../../src/platform/ignored.js';
import type { CommandGroup } from './cgroups.js';
import { bwrapOptions, commandLine, DESCRIPTORS, PATH } from './command-line.js';
import type { WatchedTree } from './disk-use.js';
import { OutputPace } from './output-pace.js';
import { watch, type Watch } from './watchdog.js';

const MAX_CWD_BYTES = 8 * 1024;
const MAX_STATUS_BYTES = 64 * 1024;
const MAX_COMPLAINT = 500;
/** The kernel ends the processes of a sandbox with its first one. */
const MAX_DYING_MS = 5000;

export interface RunOptions {
  bwrap: string;
  owner: { uid: number; gid: number } | null;
  root: string;
  clone: number | null;
  disablesUserns: boolean;
  unsharesNet: boolean;
  linkedEtc: string[];
  /** Files with the filter of system calls, /etc/passwd, /etc/group and /etc/hosts. */
  filter: string;
  passwd: string;
  group: string;
  hosts: string;
  maxMemory: number;
  /** Null: the kernel keeps no limits of groups here. */
  cgroup: CommandGroup | null;
  tree: WatchedTree;
  mounts: { source: string; target: string }[];
}

/** Runs a command in a new sandbox on a tree. When it returns or throws, no process of the sandbox is left. */
export async function runCommand(options: RunOptions, argv: string[], io: CommandIo): Promise<CommandEnd> {
  io.signal.throwIfAborted();
  const [file, args] = commandLine({ ...options, memoryBytes: options.maxMemory, cwd: io.cwd, argv });
  const handles = await openAll([options.filter, options.passwd, options.group, options.hosts]);
  const began = performance.now();
  const [filter, passwd, group, hosts] = handles.map(({ fd }) => fd);
  const input = io.stdin === null ? ('ignore' as const) : ('pipe' as const);
  const stdio: StdioOptions = [
    input,
    'pipe',
    'pipe',
    filter,
    'pipe',
    passwd,
    'pipe',
    'pipe',
    'pipe',
    'pipe',
    group,
    hosts,
  ];
  const outer = spawn(file, args, { cwd: '/', env: { PATH }, detached: true, stdio });
  const failed = new Promise<never>((_, reject) => outer.once('error', reject));
  failed.catch(ignored('it is waited for below'));
  let stopped: Stopped | null = null;
  let [wasStopped, isReady, hasJoined] = [false, false, false];
  let watching = null as Watch | null;
  const kill = (): void => {
    wasStopped = true;
    // It cannot begin any more.
    pipes[DESCRIPTORS.go]!.destroy();
    // Before it is known, bwrap may not die with its parent yet. Afterwards `cat` must live: it passes on what is written.
    if (status.pid === null) signalProcess(-outer.pid!, 'SIGKILL');
    else {
      outer.kill('SIGKILL');
      signalProcess(status.pid, 'SIGKILL');
    }
  };
  const stop = (why: Stopped): void => {
    stopped ??= why;
    kill();
  };
  const timer = setTimeout(() => stop('timeout'), io.timeoutMs);
  io.signal.addEventListener('abort', kill, { once: true });
  const pipes = outer.stdio as unknown as Duplex[];
  for (const pipe of pipes) pipe?.on('error', ignored('what it led to has ended'));
  pipes[DESCRIPTORS.options]!.end(`${bwrapOptions({ ...options, tree: options.tree.folder }).join('\0')}\0`);
  if (io.stdin !== null) pipes[0]!.end(io.stdin);
  const goOn = (): void => {
    if (isReady && hasJoined && !wasStopped) pipes[DESCRIPTORS.go]!.end('\n');
  };
  const begin = (): void => {
    hasJoined = true;
    goOn();
  };
  let refused: unknown = null;
  const refuse = (error: NodeJS.ErrnoException): void => {
    // The sandbox could not begin, and has ended.
    if (wasStopped || error.code === 'ESRCH') return;
    refused = error;
    kill();
  };
  const status = new StatusReader(pipes[DESCRIPTORS.status]!, (pid) => {
    watching = watch({ pid, maxMemory: options.maxMemory, group: options.cgroup, tree: options.tree }, stop);
    if (wasStopped) kill();
    else enter(pid, options.cgroup).then(begin, refuse);
  });
  const report = readText(pipes[DESCRIPTORS.report]!, MAX_CWD_BYTES);
  pipes[DESCRIPTORS.report]!.once('data', () => {
    isReady = true;
    goOn();
  });
  const outerComplaint = readText(pipes[2]!, MAX_STATUS_BYTES);
  let complaint = '';
  const pace = new OutputPace();
  pipes[1]!.on('data', (chunk: Buffer) => {
    // The first words may be those of bwrap, which could not begin.
    if (complaint.length < MAX_COMPLAINT) complaint += String(chunk);
    const taken = io.onOutput(chunk);
    const pauseMs = pace.pauseAfter(chunk.length);
    if (!(taken instanceof Promise) && pauseMs === 0) return;
    pipes[1]!.pause();
    void Promise.all(pauseMs === 0 ? [taken] : [taken, sleep(pauseMs)]).finally(() => pipes[1]!.resume());
  });
  try {
    await Promise.race([failed, Promise.all([once(pipes[1]!, 'close'), status.closed, once(outer, 'exit')])]);
  } catch (error) {
    throw new SandboxFailedError('the sandbox could not be started', { cause: error });
  } finally {
    clearTimeout(timer);
    watching?.end();
    io.signal.removeEventListener('abort', kill);
    pipes[DESCRIPTORS.alive]!.destroy();
    await Promise.all(handles.map((handle) => handle.close()));
  }
  const ms = Math.round(performance.now() - began);
  if (status.pid !== null) await goneOf(status.pid);
  io.signal.throwIfAborted();
  if (refused !== null) throw new SandboxFailedError('the command got no group of the kernel', { cause: refused });
  const reported = await report;
  if (reported === '' && !wasStopped) {
    throw new SandboxFailedError(`the command did not begin: ${`${await outerComplaint}${complaint}`.trim()}`);
  }
  stopped ??= (await watching?.lastLook()) ?? null;
  if (stopped !== null) return { code: null, stopped, cwd: null, ms };
  if (status.code === null) throw new SandboxFailedError('the sandbox ended before its command');
  // A line feed as it began, and its last working directory, whose name may have line feeds too.
  const last = reported.slice(1, -1);
  return { code: status.code, stopped: null, cwd: last.startsWith('/') ? last : null, ms };
}

/**
 * Puts the first process of a sandbox under the limits of a group, and before others when the machine is out of memory. All
 * processes of the command come from it, and it waits for the worker's answer.
 */
async function enter(pid: number, group: CommandGroup | null): Promise<void> {
  await writeFile(`/proc/${pid}/oom_score_adj`, '1000').catch(ignored('some kernels do not have it'));
  await group?.join(pid);
}

/** Sends a signal to a process that may have ended. */
function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

async function openAll(paths: string[]): Promise<FileHandle[]> {
  return Promise.all(paths.map((path) => open(path, 'r')));
}

function once(emitter: NodeJS.EventEmitter, event: string): Promise<void> {
  return new Promise((resolve) => emitter.once(event, () => resolve()));
}

async function readText(source: Readable, maxBytes: number): Promise<string> {
  let text = '';
  for await (const chunk of source) if (text.length < maxBytes) text += String(chunk);
  return text.slice(0, maxBytes);
}

/**
 * Waits until the first process of a sandbox has ended: then the kernel has ended all others. It may be a zombie for a while, until
 * it is collected. @throws SandboxFailedError
 */
async function goneOf(pid: number): Promise<void> {
  for (const end = performance.now() + MAX_DYING_MS; performance.now() < end; await sleep(1)) {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
    if (stat === '' || /\) [ZX] /.test(stat)) return;
  }
  throw new SandboxFailedError('a process of the sandbox is left');
}

/** Reads bwrap's reports: JSON objects, one a line. */
class StatusReader {
  pid: number | null = null;
  code: number | null = null;
  readonly closed: Promise<void>;

  constructor(source: Readable, onStart: (pid: number) => void) {
    let text = '';
    source.on('data', (chunk: Buffer) => {
      if (text.length < MAX_STATUS_BYTES) text += String(chunk);
      const started = /"child-pid": (\d+)\D/.exec(text);
      if (started !== null && this.pid === null) {
        this.pid = Number(started[1]);
        onStart(this.pid);
      }
      const ended = /"exit-code": (\d+)\D/.exec(text);
      if (ended !== null) this.code = Number(ended[1]);
    });
    this.closed = once(source, 'close');
  }
}

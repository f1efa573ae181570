import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../src/platform/free-port.js';
import { checkLog } from './log.js';

/** `service`: API and worker in one process, as `npm start` runs them. */
export type Role = 'api' | 'worker' | 'service';

/** This checkout. */
export const THIS_BUILD = fileURLToPath(new URL('../..', import.meta.url));
/** From the folder of a checkout. */
const MAIN: Record<Role, string> = {
  api: 'dist/api/main.js',
  worker: 'dist/activities/main.js',
  service: 'dist/dev/service.js',
};
const READY_MS = 60_000;

/** One process of the service, as `npm run api` and `npm run worker` start it. */
export interface RoleProcess {
  role: Role;
  /** Of an API: where it listens. Of a worker: its status server. */
  url: string;
  readonly pid: number;
  /** What it was started with. */
  env: Record<string, string>;
  /** The checkout whose build it runs; another one counts from the next start. */
  build: string;
  /** SIGKILL, as a crash. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code when it has drained. */
  stop(): Promise<number | null>;
  /** SIGSTOP, as a process that the machine has forgotten; `kill` ends it all the same. */
  freeze(): void;
  /** SIGCONT: it goes on where it was frozen. */
  thaw(): void;
  /** Resolves with the exit code when it has ended by itself. */
  exited(): Promise<number | null>;
  /** Starts it again in its place. */
  start(): Promise<void>;
  /** What it has logged, over all its lives. */
  log(): string;
}

/** Starts a role as a process of its own and waits until it answers `/healthz`. @param build the checkout whose build it runs */
export async function startRole(role: Role, env: Record<string, string>, build = THIS_BUILD): Promise<RoleProcess> {
  if (!existsSync(join(build, MAIN.api))) throw new Error('dist is missing: run `npm run build` first');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess;
  let log = '';
  const onOutput = (chunk: Buffer): void => {
    log += String(chunk);
    checkLog(String(chunk));
  };

  const gone = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  };
  const start = async (): Promise<void> => {
    child = spawn(process.execPath, [join(started.build, MAIN[role])], {
      env: {
        PATH: process.env.PATH,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        LOG_LEVEL: 'warn',
        HOST: '127.0.0.1',
        ...env,
        [role === 'worker' ? 'METRICS_PORT' : 'PORT']: String(port),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', onOutput);
    const until = performance.now() + READY_MS;
    while (!(await answers(`${url}/healthz`))) {
      if (child.exitCode !== null) throw new Error(`the ${role} ended at its start:\n${log}`);
      if (performance.now() > until) throw new Error(`the ${role} does not answer:\n${log}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const started: RoleProcess = {
    role,
    url,
    env,
    build,
    get pid() {
      return child.pid!;
    },
    async kill() {
      child.kill('SIGKILL');
      await gone();
    },
    async stop() {
      child.kill('SIGTERM');
      await gone();
      return child.exitCode;
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    async exited() {
      await gone();
      return child.exitCode;
    },
    start,
    log: () => log,
  };
  await start();
  return started;
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}

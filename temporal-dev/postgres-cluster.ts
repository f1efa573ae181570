import { execFile, execFileSync } from 'node:child_process';
import { chownSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { endProcess } from '#temporal-dev/end-process.mjs';
import type { ServerUser } from './postgres-user.js';

const execute = promisify(execFile);

/** A developer's shell may set PGDATA, PGPORT or locales for other databases; they must not reach this one. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}

/** Tests open thousands of connections, over loopback. SCRAM would cost each of them 3 ms of CPU. */
const TEST_OPTIONS = ['--auth=password', '--set=scram_iterations=1'];

/** Initialises a cluster under another name first: a cluster with the final name is complete. */
export async function initialiseCluster(
  initdb: string,
  cluster: string,
  { password, durable }: { password: string; durable: boolean },
  user?: ServerUser,
): Promise<void> {
  const draft = `${cluster}.new`;
  const passwordFile = join(cluster, '..', 'password');
  rmSync(draft, { recursive: true, force: true });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user !== undefined) chownSync(passwordFile, user.uid, user.gid);
  try {
    const options = [`--pgdata=${draft}`, `--pwfile=${passwordFile}`, '--username=postgres'];
    const auth = durable ? ['--auth=scram-sha-256'] : TEST_OPTIONS;
    await execute(initdb, [...options, ...auth, '--no-locale', '--encoding=UTF8'], {
      cwd: '/',
      env: cleanEnvironment(),
      ...user,
    });
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(draft, cluster);
}

/**
 * Stops a server that still runs on this cluster though the process that started it is gone. If the number in the pid
 * file now belongs to another program (a restarted container counts from one again), only the file is removed: Postgres
 * would refuse to start.
 */
export async function stopOrphanPostgres(cluster: string): Promise<void> {
  const pidFile = join(cluster, 'postmaster.pid');
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
  await endProcess(pid, 'SIGINT', () => commandLine(pid).includes(cluster));
  rmSync(pidFile, { force: true });
}

function commandLine(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    return '';
  }
}

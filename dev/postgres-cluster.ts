import { execFile } from 'node:child_process';
import { chownSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
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

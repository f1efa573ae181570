import pg from 'pg';
import type { DataSource } from 'typeorm';
import { clientConfig } from './client-config.js';
import { DirectDataSource } from './direct-data-source.js';
import { entities } from './entities/index.js';
import { migrations } from './migrations/index.js';
import { PreparedClient } from './prepared-client.js';
import { ProjectPool } from './project-pool.js';
import { typeParsers } from './types.js';

/**
 * Server-side timeouts of each connection. If a process freezes in a transaction, Postgres releases its locks after 3 s; if it
 * vanishes without closing its connections, within about 10 s. A statement that waits for such a lock fails after 5 s, and its
 * caller retries (`isDatabaseAway`).
 */
const SERVICE_LIMITS = {
  statement_timeout: 10_000,
  lock_timeout: 5_000,
  idle_in_transaction_session_timeout: 3_000,
  tcp_user_timeout: 10_000,
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 2,
  tcp_keepalives_count: 3,
};

/**
 * Every statement has its index. But a connection keeps a plan that it made when the tables were new and empty: it would read
 * whole tables until Postgres has analyzed them. A statement keeps its first plan, whatever its values: none of them has values
 * for which another index is better, and planning costs more than the work of most.
 */
const SERVICE_PLANS = { enable_seqscan: 'off', plan_cache_mode: 'force_generic_plan' };

/** A migration may run for long, but must not wait long for a lock: every other statement would queue behind it. */
const MIGRATION_LIMITS = { statement_timeout: 0, lock_timeout: 2_000 };

/**
 * Connections for what keeps the service going: the leader's lease and rounds, clean-up, claims of deliveries. They never wait
 * behind requests and turns, nor these behind them. A process that only stands by uses one; idle ones are closed.
 */
const BACKGROUND_POOL_SIZE = 3;

const CONNECT_TIMEOUT_MS = 5000;

/** A new connection plans each statement anew. One that nobody uses for so long is closed. */
const IDLE_CONNECTION_MS = 600_000;

/** pg with a pool of which each project has a share. */
const WITH_SHARES = Object.create(pg, { Pool: { value: ProjectPool } }) as typeof pg;

/** Opens the pool for background work. `role`: api or worker. */
export function openBackgroundPool(databaseUrl: string, role: string): Promise<DataSource> {
  return openDataSource(databaseUrl, BACKGROUND_POOL_SIZE, `${role} background`, 'background');
}

export async function openDataSource(
  databaseUrl: string,
  poolSize: number,
  name: string,
  purpose: 'service' | 'background' | 'migration' = 'service',
  connectTimeoutMs = CONNECT_TIMEOUT_MS,
): Promise<DataSource> {
  const limits = purpose === 'migration' ? MIGRATION_LIMITS : { ...SERVICE_LIMITS, ...SERVICE_PLANS };
  // Compiling a statement costs more than it saves: the service reads few rows at a time.
  const settings = Object.entries({ timezone: 'UTC', jit: 'off', ...limits });
  const dataSource = new DirectDataSource({
    type: 'postgres',
    ...(purpose === 'service' && { driver: WITH_SHARES }),
    applicationName: name,
    entities,
    migrations,
    migrationsTableName: 'migrations',
    migrationsTransactionMode: 'each',
    synchronize: false,
    poolSize,
    connectTimeoutMS: connectTimeoutMs,
    extra: {
      ...clientConfig(databaseUrl),
      Client: PreparedClient,
      // A transaction sends the statements that it need not wait for at once (src/db/transaction).
      pipeline: true,
      idleTimeoutMillis: IDLE_CONNECTION_MS,
      types: typeParsers,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      options: settings.map(([setting, value]) => `-c ${setting}=${value}`).join(' '),
      ...(purpose !== 'migration' && { answerTimeoutMs: PreparedClient.ANSWER_TIMEOUT_MS }),
    },
    // The pool replaces an idle connection that dies. The error shows in the next query.
    poolErrorHandler: () => undefined,
  });
  return dataSource.initialize();
}

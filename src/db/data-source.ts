import { DataSource } from 'typeorm';
import { entities } from './entities/index.js';
import { migrations } from './migrations/index.js';
import { PreparedClient } from './prepared-client.js';
import { typeParsers } from './types.js';

/** The options that open a pool on `databaseUrl`: at most `poolSize` connections, each waited for at most 5 s. */
export async function openDataSource(databaseUrl: string, poolSize: number, name: string): Promise<DataSource> {
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
      options: '-c timezone=UTC',
    },
    // A pooled connection that dies while idle is replaced at the next use; the fault shows in the query that meets it.
    poolErrorHandler: () => undefined,
  });
  return dataSource.initialize();
}

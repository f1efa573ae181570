import { expect } from 'chai';
import pg from 'pg';
import { createTestDatabase, startPostgres } from '../support/postgres.js';
import { startTemporalServer, temporalAddress } from '../support/temporal.js';
import { Connection } from '@temporalio/client';

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('embedded servers', () => {
  it('the local set-up gives each caller a migrated database of its own', async () => {
    const databases = await Promise.all([createTestDatabase(), createTestDatabase()]);
    await query(databases[0].url, "INSERT INTO projects (id, name) VALUES ('p1', 'only here')");
    expect(await query(databases[1].url, 'SELECT * FROM projects')).to.deep.equal([]);
    await Promise.all(databases.map((database) => database.drop()));
  });

  it('the local set-up keeps committed data when Postgres is killed, on the same address', async () => {
    const postgres = await startPostgres();
    await query(postgres.url, 'CREATE TABLE kept (n int)');
    await query(postgres.url, 'INSERT INTO kept VALUES (7)');
    const before = postgres.pid;
    await postgres.kill();
    await postgres.restart();
    expect(postgres.pid).not.to.equal(before);
    expect(await query(postgres.url, 'SELECT n FROM kept')).to.deep.equal([{ n: 7 }]);
    await postgres.stop();
  });

  it('the local set-up keeps workflows over a kill of the Temporal server, on the same address', async () => {
    const temporal = await startTemporalServer();
    const start = {
      namespace: 'default',
      workflowId: 'kept',
      workflowType: { name: 'none' },
      taskQueue: { name: 'none' },
      requestId: 'r',
    };
    const connection = await Connection.connect({ address: temporal.address });
    await connection.workflowService.startWorkflowExecution(start);
    await connection.close();
    await temporal.kill();
    await temporal.restart();
    const again = await Connection.connect({ address: temporal.address });
    const found = await again.workflowService.describeWorkflowExecution({
      namespace: 'default',
      execution: { workflowId: 'kept' },
    });
    expect(found.workflowExecutionInfo?.type?.name).to.equal('none');
    await again.close();
    await temporal.stop();
  });

  it('the local set-up shares one Temporal server that has the search attributes', async () => {
    const connection = await Connection.connect({ address: await temporalAddress() });
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: 'default' });
    expect(customAttributes).to.include.keys('ProjectId', 'SessionId', 'ModelId', 'WaitsFor');
    await connection.close();
  });
});

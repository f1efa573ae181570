import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { openDataSource } from '../../../src/db/data-source.js';
import { isDatabaseAway } from '../../../src/db/transaction.js';
import { createKey } from '../../../src/projects/api-keys.js';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.js';
import { useDatabase, usePool } from '../../support/use.js';

/** What contract and operations promise: the longest delay that a frozen or vanished part causes. */
const MAX_HELD_MS = 15_000;
/** A statement that waits for a lock fails after 5 s: one that waits for a process that froze does not. */
const MAX_FROZEN_MS = 5_000;

describe('connections to Postgres', () => {
  let frozen: ChildProcess;
  let proxy: TcpProxy;
  const database = useDatabase();
  const db = usePool(database, 4);
  before(() => createKey(db, { project: 'demo' }));
  after(async () => {
    frozen?.kill('SIGKILL');
    await proxy?.close();
  });

  it('connections to Postgres lose the locks of a process that froze inside a transaction', async () => {
    frozen = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(new URL('frozen-client.ts', import.meta.url))], {
      env: { ...process.env, DATABASE_URL: database.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(frozen.stdout!, 'data');
    frozen.kill('SIGSTOP');
    const began = performance.now();
    await db.query('UPDATE projects SET max_running_turns = 7');
    expect(performance.now() - began).to.be.below(MAX_FROZEN_MS);
  });

  it('connections to Postgres are replaced when the network drops data silently', async () => {
    const { hostname, port } = new URL(database.url);
    proxy = await startTcpProxy({ host: hostname, port: Number(port) });
    const url = new URL(database.url);
    url.port = String(proxy.port);
    const through = await openDataSource(url.href, 1, 'test');
    proxy.swallow();
    const began = performance.now();
    const error: unknown = await through.query('SELECT 1 AS one').catch((refused: unknown) => refused);
    expect(performance.now() - began).to.be.below(MAX_HELD_MS);
    expect(isDatabaseAway(error), String(error)).to.equal(true);
    await proxy.close();
    expect(isDatabaseAway(await through.query('SELECT 1').catch((refused: unknown) => refused))).to.equal(true);
    await through.destroy();
  });

  it('connections to Postgres that lead to a read-only server are dropped at the first write', async () => {
    const one = await openDataSource(database.url, 1, 'test');
    const pidOf = async (): Promise<number> =>
      (await one.query<[{ pid: number }]>('SELECT pg_backend_pid() AS pid'))[0].pid;
    const before = await pidOf();
    await one.query('SET default_transaction_read_only = on');
    const error: unknown = await one.query('UPDATE projects SET name = name').catch((refused: unknown) => refused);
    expect(isDatabaseAway(error), String(error)).to.equal(true);
    expect(await pidOf()).to.not.equal(before);
    await one.query('UPDATE projects SET name = name');
    await one.destroy();
  });
});

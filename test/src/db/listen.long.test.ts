import { expect } from 'chai';
import { Listener } from '../../../src/db/listen.js';
import { createLogger } from '../../../src/platform/logger.js';
import { eventually } from '../../support/eventually.js';
import { useDatabase, usePool } from '../../support/use.js';

describe('the LISTEN connection', () => {
  let listener: Listener;
  let connections = 0;
  const payloads: string[] = [];
  const database = useDatabase();
  const db = usePool(database, 2);
  before(async () => {
    listener = new Listener(
      database.url,
      { onPayload: (payload) => payloads.push(payload), onConnect: () => (connections += 1) },
      createLogger('silent', 'test'),
    );
    await eventually('it is connected', () => connections === 1);
  });
  after(() => listener.close());

  const notify = (channel: string, payload: string) => db.query('SELECT pg_notify($1, $2)', [channel, payload]);

  it('the LISTEN connection receives only notifications of its channels', async () => {
    await listener.add('channel_1');
    await notify('channel_2', 'not mine');
    await notify('channel_1', 'mine');
    await eventually('the payload arrives', () => payloads.includes('mine'));
    expect(payloads).to.deep.equal(['mine']);
  });

  it('the LISTEN connection goes on after a notification that cannot be read', async () => {
    const read: string[] = [];
    let connected = false;
    const reading: Listener = new Listener(
      database.url,
      {
        onPayload: (payload) => read.push(JSON.parse(payload) as string),
        onConnect: () => (connected = true),
      },
      createLogger('silent', 'test'),
    );
    await eventually('it is connected', () => connected);
    await reading.add('channel_4');
    await notify('channel_4', '[');
    await notify('channel_4', '"good"');
    await eventually('the one after it arrives', () => read.length > 0);
    expect(read).to.deep.equal(['good']);
    await reading.close();
  });

  it('the LISTEN connection listens on the channels of before, and on later ones, after it was cut', async () => {
    await db.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name LIKE 'listen %'`,
    );
    await eventually('it is cut off', () => !listener.isConnected);
    await listener.add('channel_3');
    await eventually('it is connected again', () => connections === 2);
    await notify('channel_1', 'again');
    await notify('channel_3', 'later');
    await eventually('the payload arrives after the cut', () => payloads.includes('later'));
    expect(payloads).to.include('again');
  });

  it('the LISTEN connection keeps a channel that is added again before it was dropped', async () => {
    listener.remove('channel_1');
    await listener.add('channel_1');
    await notify('channel_1', 'kept');
    await eventually('the kept payload arrives', () => payloads.includes('kept'));
  });

  it('the LISTEN connection drops channels that are not needed', async () => {
    listener.remove('channel_3');
    await eventually('the listening connection is there', async () => {
      const rows = await db.query<unknown[]>(
        `SELECT FROM pg_stat_activity WHERE application_name LIKE 'listen %' AND query LIKE '%UNLISTEN channel_3%'`,
      );
      return rows.length > 0;
    });
    payloads.length = 0;
    await notify('channel_3', 'dropped');
    await notify('channel_1', 'last');
    await eventually('the last payload arrives', () => payloads.includes('last'));
    expect(payloads).to.deep.equal(['last']);
  });
});

import { expect } from 'chai';
import Koa from 'koa';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errorResponse } from '../../../api/http/core/error-response.js';
import { ProjectShareError } from '../../../src/db/project-pool.js';
import { TEST_MODEL } from '../../support/config.js';
import { eventually } from '../../support/eventually.js';
import { openSse } from '../../support/sse-reader.js';
import { useService } from '../../support/use.js';

/** With a pool of four connections, a project has two. */
describe('the share of a project in the connections of the API', () => {
  const service = useService({ config: { databasePoolSize: 4 } });

  const waiting = async (): Promise<number> => {
    const [row] = await service.db.query<{ n: number }[]>(
      `SELECT count(*)::integer AS n FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'api' AND wait_event_type = 'Lock'`,
    );
    return row!.n;
  };

  it('requests of a project that wait in Postgres hold its share of the connections, and another project works', async () => {
    const other = service.as(await service.newKey({ project: 'other' }));
    const body = { model_id: TEST_MODEL.id };
    const theirs = (await other('POST', '/v1/sessions', body)).body.id as string;
    const mine = (await service.api('POST', '/v1/sessions', body)).body.id as string;
    const streams = await Promise.all(
      Array.from({ length: 4 }, () => openSse(`${service.url}/v1/sessions/${mine}/events/stream`, service.key)),
    );
    const holder = service.db.createQueryRunner();
    await holder.query('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0');
    await holder.query('SELECT FROM sessions WHERE id = $1 FOR UPDATE', [mine]);
    const changes = Array.from({ length: 8 }, () => service.api('PATCH', `/v1/sessions/${mine}`, { metadata: {} }));
    await eventually('the share is used', async () => (await waiting()) === 2);
    const answers = [
      await other('POST', '/v1/sessions', body),
      ...(await Promise.all(
        Array.from({ length: 4 }, () => other('PATCH', `/v1/sessions/${theirs}`, { metadata: {} })),
      )),
      await other('GET', `/v1/sessions/${theirs}`),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([201, 200, 200, 200, 200, 200]);
    expect(await waiting()).to.equal(2);
    await holder.query('COMMIT');
    await holder.release();
    expect((await Promise.all(changes)).map(({ status }) => status)).to.deep.equal(changes.map(() => 200));
    for (const stream of streams) stream.close();
  });

  it('a request that has waited too long for the share of its project is refused, and may be sent again', async () => {
    const app = new Koa();
    app.use(errorResponse());
    app.use(() => {
      throw new ProjectShareError();
    });
    const server = createServer((req, res) => void app.callback()(req, res)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.close();
    expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([429, '1']);
    expect(((await answer.json()) as { error: object }).error).to.deep.equal({
      type: 'too_many_requests',
      message:
        'Other requests of the project are under way and use the database. Send fewer at once, or wait, then try again.',
    });
  });
});

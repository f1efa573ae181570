import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { startService, type TestService } from '../../support/service.js';

describe('Postgres away', () => {
  let postgres: TestPostgres;
  let service: TestService;
  before(async () => {
    postgres = await startPostgres();
    service = await startService({ databaseUrl: postgres.url, config: { rateLimitPerMinute: 60 } });
  });
  after(async () => {
    await service.close();
    await postgres.stop();
  });

  it('Postgres away gives 503 that may be tried again, and works when Postgres is back', async () => {
    expect((await service.api('GET', '/v1/sessions')).status).to.equal(200);
    expect((await service.api('GET', '/readyz')).body.postgres).to.equal('ok');
    await postgres.kill();
    // Its backends end a moment after it.
    await eventually('Postgres is away', async () => (await service.api('GET', '/v1/sessions')).status === 503);

    const cached = await service.api('GET', '/v1/sessions');
    const limited = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    const unknown = await service.as(`ask_${'A'.repeat(43)}`)('GET', '/v1/sessions');
    for (const { status, headers, body } of [cached, limited, unknown]) {
      expect(status).to.equal(503);
      expect(body.error.type).to.equal('service_unavailable');
      expect(headers.get('retry-after')).to.match(/^[0-9]+$/);
      expect(headers.get('x-should-retry')).to.equal('true');
    }
    // An answer may be two seconds old.
    await eventually('readiness', async () => (await service.api('GET', '/readyz')).status === 503);
    expect((await service.api('GET', '/readyz')).body.postgres).to.equal('away');
    expect((await service.api('GET', '/healthz')).status).to.equal(200);

    await postgres.restart();
    expect((await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).status).to.equal(201);
    await eventually('readiness', async () => (await service.api('GET', '/readyz')).status === 200);
  });
});

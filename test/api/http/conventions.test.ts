import { expect } from 'chai';
import { startService, type TestService } from '../../support/service.js';

describe('HTTP conventions', () => {
  let service: TestService;
  before(async () => {
    service = await startService();
  });
  after(() => service.close());

  it('creates and reads a session', async () => {
    const created = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    expect(created.status).to.equal(201);
    const read = await service.api('GET', `/v1/sessions/${created.body.id}`);
    expect(read.body).to.deep.equal(created.body);
  });
});

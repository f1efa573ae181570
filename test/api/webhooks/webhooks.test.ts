import { expect } from 'chai';
import type { ApiResponse } from '../../support/client.js';
import { reachedLimit } from '../../support/rows.js';
import type { TestService } from '../../support/service.js';
import { useService } from '../../support/use.js';

const URL = 'https://hooks.invalid/agent';

describe('webhooks', () => {
  const service = useService();
  let projects = 0;
  /** A client of a project without webhooks. */
  const newProject = async (): Promise<TestService['api']> =>
    service.as(await service.newKey({ project: `project-${(projects += 1)}` }));
  const create = (api: TestService['api'], body: object = {}): Promise<ApiResponse> =>
    api('POST', '/v1/webhooks', { url: URL, event_types: ['turn.completed'], ...body });

  it('webhooks are created with a secret, which no other operation shows', async () => {
    const api = await newProject();
    const { status, body } = await create(api, { description: 'Orders', event_types: ['agent.file', 'turn.failed'] });
    expect(status).to.equal(201);
    const { secret, ...webhook } = body;
    expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).to.have.length(32);
    expect(webhook).to.deep.include({
      url: URL,
      event_types: ['agent.file', 'turn.failed'],
      description: 'Orders',
      enabled: true,
      disabled_reason: null,
      updated_at: webhook.created_at,
    });
    expect((await api('GET', `/v1/webhooks/${webhook.id}`)).body).to.deep.equal(webhook);
    expect((await api('GET', '/v1/webhooks')).body).to.deep.equal({ items: [webhook], meta: { next_cursor: null } });
    const defaults = await create(api, { enabled: false });
    expect(defaults.body).to.include({ description: null, enabled: false });
  });

  it('webhooks keep secrets sealed: in no table in the clear, also when an answer is recorded', async () => {
    const api = await newProject();
    const key = { 'Idempotency-Key': 'one' };
    const send = (): Promise<ApiResponse> =>
      api('POST', '/v1/webhooks', { url: URL, event_types: ['turn.completed'] }, key);
    const [created, replayed] = [await send(), await send()];
    expect(replayed.headers.get('idempotency-replayed')).to.equal('true');
    expect(replayed.body).to.deep.equal(created.body);
    const rotate = (): Promise<ApiResponse> =>
      api('POST', `/v1/webhooks/${created.body.id}/rotate-secret`, undefined, key);
    const [rotated, again] = [await rotate(), await rotate()];
    expect([rotated.status, again.body]).to.deep.equal([200, rotated.body]);
    expect(rotated.body.secret).to.not.equal(created.body.secret);

    const tables: { table: string }[] = await service.db.query(
      `SELECT format('%I', tablename) AS table FROM pg_tables WHERE schemaname = 'public'`,
    );
    const rows = await Promise.all(tables.map(({ table }) => service.db.query(`SELECT * FROM ${table}`)));
    const dump = JSON.stringify(rows);
    expect(dump).to.contain(created.body.id).and.to.not.contain('whsec_');
    for (const { body } of [created, rotated]) expect(dump).to.not.contain(body.secret.slice(6, 26));
  });

  it('webhooks change only in the fields that are given', async () => {
    const api = await newProject();
    const { secret: _, ...webhook } = (await create(api, { description: 'Orders' })).body;
    const patch = (body: object): Promise<ApiResponse> => api('PATCH', `/v1/webhooks/${webhook.id}`, body);
    expect((await patch({})).body).to.deep.equal(webhook);
    const changed = (await patch({ url: `${URL}/2`, event_types: ['turn.cancelled', 'agent.requires_action'] })).body;
    expect(changed).to.deep.equal({
      ...webhook,
      url: `${URL}/2`,
      event_types: ['turn.cancelled', 'agent.requires_action'],
      updated_at: changed.updated_at,
    });
    expect(changed.updated_at > webhook.updated_at).to.equal(true);
    expect((await patch({ description: null, enabled: false })).body).to.include({ description: null, enabled: false });
    expect((await patch({ url: 'http://hooks.invalid/' })).body.error.type).to.equal('invalid_webhook_url');
  });

  it('webhooks refuse bodies that the schema does not allow', async () => {
    const api = await newProject();
    const refused: [object, string][] = [
      [{ url: 1 }, '/url'],
      [{ url: `https://${'a'.repeat(2041)}` }, '/url'],
      [{ event_types: [] }, '/event_types'],
      [{ event_types: ['turn.completed', 'turn.completed'] }, '/event_types'],
      [{ event_types: ['user.message'] }, '/event_types/0'],
      [{ event_types: ['webhook.test'] }, '/event_types/0'],
      [{ event_types: 'turn.completed' }, '/event_types'],
      [{ event_types: null }, '/event_types'],
      [{ description: 'x'.repeat(1001) }, '/description'],
      [{ enabled: null }, '/enabled'],
    ];
    for (const [body, path] of refused) {
      const { status, body: answer } = await create(api, body);
      expect([status, answer.error.type], JSON.stringify(body)).to.deep.equal([422, 'validation_error']);
      expect(answer.error.details.errors[0].path).to.equal(path);
    }
    expect((await create(api, { description: 'x'.repeat(1000) })).status).to.equal(201);
  });

  it('webhooks take public https urls only', async () => {
    const api = await newProject();
    const urls = [
      ...['http://example.com/', 'ftp://example.com/', 'example.com', '', 'https://user@example.com/'],
      ...['https://127.0.0.1/', 'https://localhost/', 'https://10.0.0.1/', 'https://169.254.169.254/latest/'],
      ...['https://[::1]/', 'https://[::ffff:127.0.0.1]/', 'https://0x7f000001/', 'https://2130706433/'],
      ...['https://example.com/ a', 'https:\\\\example.com\\'],
    ];
    for (const url of urls) {
      const { status, body } = await create(api, { url });
      expect([status, body.error?.type], url).to.deep.equal([422, 'invalid_webhook_url']);
    }
  });

  it('webhooks are at most 10 for a project, also when they are created at the same time', async () => {
    const api = await newProject();
    const answers = await Promise.all(Array.from({ length: 13 }, () => create(api)));
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.map(({ status, body }) => [status, body.error.type])).to.deep.equal(
      Array(3).fill([409, 'webhook_limit_reached']),
    );
    expect(refused[0]!.headers.get('x-should-retry')).to.equal('false');
    const { id } = answers.find(({ status }) => status === 201)!.body;
    expect((await api('DELETE', `/v1/webhooks/${id}`)).status).to.equal(204);
    expect((await create(api)).status).to.equal(201);
    expect((await create(api)).status).to.equal(409);
    expect((await create(await newProject())).status).to.equal(201);
    reachedLimit('webhooks of a project: 10');
  });

  it('webhooks are gone once deleted, for every operation', async () => {
    const api = await newProject();
    const { id } = (await create(api)).body;
    const test = await api('POST', `/v1/webhooks/${id}/test`);
    expect((await api('DELETE', `/v1/webhooks/${id}`)).status).to.equal(204);
    const calls: [string, string, object?][] = [
      ['GET', ''],
      ['PATCH', '', {}],
      ['DELETE', ''],
      ['POST', '/rotate-secret'],
      ['POST', '/test'],
      ['GET', '/deliveries'],
      ['POST', `/deliveries/${test.body.id}/retry`],
    ];
    for (const [method, path, body] of calls) {
      const answer = await api(method, `/v1/webhooks/${id}${path}`, body);
      expect([answer.status, answer.body.error.type], path).to.deep.equal([404, 'webhook_not_found']);
    }
    expect((await api('GET', '/v1/webhooks')).body.items).to.deep.equal([]);
  });

  it('webhooks page through their own deliveries, newest first', async () => {
    const api = await newProject();
    const [one, other] = [(await create(api)).body, (await create(api)).body];
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.unshift((await api('POST', `/v1/webhooks/${one.id}/test`)).body.id);
    const { body: page } = await api('GET', `/v1/webhooks/${one.id}/deliveries?limit=2`);
    const { body: rest } = await api('GET', `/v1/webhooks/${one.id}/deliveries?cursor=${page.meta.next_cursor}`);
    expect([...page.items, ...rest.items].map(({ id }) => id)).to.deep.equal(ids);
    const elsewhere = await api('GET', `/v1/webhooks/${other.id}/deliveries?cursor=${page.meta.next_cursor}`);
    expect(elsewhere.body.error.type).to.equal('invalid_cursor');
    expect((await api('GET', `/v1/webhooks/${other.id}/deliveries`)).body.items).to.deep.equal([]);
    for (const id of [ids[0], 'dlv_none']) {
      const retry = await api('POST', `/v1/webhooks/${other.id}/deliveries/${id}/retry`);
      expect([retry.status, retry.body.error.type]).to.deep.equal([404, 'delivery_not_found']);
    }
  });

  it('webhooks answer a test with the delivery that is sent, once for an Idempotency-Key', async () => {
    const api = await newProject();
    const { id } = (await create(api)).body;
    const send = (): Promise<ApiResponse> =>
      api('POST', `/v1/webhooks/${id}/test`, undefined, { 'Idempotency-Key': 'one' });
    const { status, body } = await send();
    expect(status).to.equal(202);
    expect(body).to.deep.include({
      event_type: 'webhook.test',
      event_id: null,
      state: 'pending',
      attempts: [],
      next_attempt_at: body.created_at,
    });
    expect((await send()).body).to.deep.equal(body);
    expect((await api('GET', `/v1/webhooks/${id}/deliveries`)).body.items).to.have.length(1);
  });
});

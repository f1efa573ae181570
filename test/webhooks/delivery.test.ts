import { expect } from 'chai';
import type { ApiResponse } from '../support/client.js';
import { steps, text, toolUse } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { eventually, startWebhookReceiver, verifies, type WebhookReceiver } from '../support/webhook-receiver.js';

const RETRY_SECONDS = [0.2, 0.4, 0.6];

describe('deliveries of webhooks', () => {
  let service: TurnService;
  let receiver: WebhookReceiver;
  before(async () => {
    receiver = await startWebhookReceiver();
    service = await startTurnService({
      config: { mcpAllowedHosts: [receiver.host], webhookRetrySeconds: RETRY_SECONDS },
    });
  });
  beforeEach(async () => {
    receiver.received.length = 0;
    receiver.answer = (res) => void res.writeHead(204).end();
    await service.db.query('UPDATE webhooks SET deleted_at = now(), enabled = false WHERE deleted_at IS NULL');
  });
  after(async () => {
    await service.close();
    await receiver.close();
  });

  const create = async (body: Record<string, unknown> = {}): Promise<{ id: string; secret: string }> => {
    const { status, body: webhook } = await service.api('POST', '/v1/webhooks', {
      url: receiver.url,
      event_types: ['turn.completed'],
      ...body,
    });
    expect(status, JSON.stringify(webhook)).to.equal(201);
    return webhook;
  };
  const test = async (id: string): Promise<ApiResponse['body']> => {
    const { status, body } = await service.api('POST', `/v1/webhooks/${id}/test`);
    expect(status, JSON.stringify(body)).to.equal(202);
    return body;
  };
  const delivery = async (webhookId: string, id: string): Promise<ApiResponse['body']> => {
    const { body } = await service.api('GET', `/v1/webhooks/${webhookId}/deliveries?limit=100`);
    return body.items.find((item: { id: string }) => item.id === id);
  };
  const inState = (webhookId: string, id: string, state: string): Promise<ApiResponse['body']> =>
    eventually(async () => {
      const found = await delivery(webhookId, id);
      return found.state === state && found;
    });

  it('tell of the end of a turn, signed, with what the receiver needs to read the rest', async () => {
    const webhook = await create();
    const session = await service.session({ metadata: { order: '17' } });
    const turnId = await service.send(session, 'Hello');
    const end = await service.ended(session);
    const [request] = await eventually(() => receiver.received.length > 0 && receiver.received);
    expect(request!.payload).to.deep.equal({
      type: 'turn.completed',
      timestamp: end.created_at,
      data: { session_id: session, turn_id: turnId, event_id: end.id, metadata: { order: '17' } },
    });
    expect(verifies(webhook.secret, request!)).to.equal(true);
    expect(verifies(`whsec_${Buffer.alloc(32).toString('base64')}`, request!)).to.equal(false);
    const { body } = await service.api('GET', `/v1/webhooks/${webhook.id}/deliveries`);
    const [shown] = body.items;
    expect(await inState(webhook.id, shown.id, 'delivered')).to.deep.include({
      id: request!.id,
      event_type: 'turn.completed',
      event_id: end.id,
      next_attempt_at: null,
      created_at: end.created_at,
    });
    const [attempt] = (await delivery(webhook.id, shown.id)).attempts;
    expect(attempt).to.include({ status: 204, error: null });
  });

  it('carry no content, and go to subscribers of the project alone', async () => {
    const files = await create({ event_types: ['agent.file', 'turn.completed'] });
    const others = service.as(await service.newKey({ project: 'strangers' }));
    await others('POST', '/v1/webhooks', { url: `${receiver.url}/strangers`, event_types: ['turn.completed'] });
    await create({ event_types: ['turn.failed'] });
    await create({ event_types: ['turn.completed'], enabled: false });
    service.model.on(
      /deliver/,
      steps([toolUse('deliver_file', { filename: 'secret-name.txt', content: 'secret' })], [text('SECRET ANSWER')]),
    );
    const session = await service.session();
    await service.send(session, 'deliver it');
    await service.ended(session);
    await eventually(() => receiver.received.length >= 2);
    const { body } = await service.api('GET', `/v1/webhooks/${files.id}/deliveries`);
    expect(body.items.map((item: { event_type: string }) => item.event_type)).to.deep.equal([
      'turn.completed',
      'agent.file',
    ]);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(receiver.received.map(({ payload }) => payload.type).sort()).to.deep.equal(['agent.file', 'turn.completed']);
    expect(receiver.received.every((request) => verifies(files.secret, request))).to.equal(true);
    expect(receiver.received.map((request) => request.body).join()).to.not.match(/secret/i);
  });

  it('are tried again by the schedule, with the same id and body, and then given up', async () => {
    const webhook = await create();
    receiver.answer = (res) => void res.writeHead(500).end('SECRET');
    const { id } = await test(webhook.id);
    const shown = await inState(webhook.id, id, 'failed');
    const requests = receiver.of(id);
    expect(requests).to.have.length(4);
    expect(new Set(requests.map(({ body }) => body)).size).to.equal(1);
    expect(requests[0]!.payload).to.deep.equal({
      type: 'webhook.test',
      timestamp: shown.created_at,
      data: { session_id: null, turn_id: null, event_id: null, metadata: {} },
    });
    const gaps = requests.slice(1).map(({ at }, n) => at - requests[n]!.at);
    gaps.forEach((gap, n) => expect(gap, `pause ${n}`).to.be.at.least(RETRY_SECONDS[n]! * 1000 - 20));
    expect(shown.attempts.map(({ status, error }: Record<string, unknown>) => ({ status, error }))).to.deep.equal(
      Array(4).fill({ status: 500, error: 'The receiver answered 500.' }),
    );
    expect(shown).to.include({ next_attempt_at: null, event_id: null, event_type: 'webhook.test' });
    expect(JSON.stringify(await service.db.query('SELECT * FROM webhook_deliveries'))).to.not.contain('SECRET');
  });

  it('count only a 2xx as success: redirects, other statuses and broken connections are failures', async () => {
    const webhook = await create();
    const answers: ((res: Parameters<WebhookReceiver['answer']>[0]) => void)[] = [
      (res) => res.writeHead(302, { location: '/elsewhere' }).end(),
      (res) => res.writeHead(307, { location: '/elsewhere' }).end(),
      (res) => res.destroy(),
      // A body that never ends.
      (res) => void res.writeHead(200).write('more to come'),
    ];
    receiver.answer = (res, _, nth) => answers[nth - 1]!(res);
    const { id } = await test(webhook.id);
    const { attempts } = await inState(webhook.id, id, 'delivered');
    expect(attempts.map(({ status }: { status: number | null }) => status)).to.deep.equal([302, 307, null, 200]);
    expect(attempts[0].error).to.equal('The receiver answered 302: redirects are not followed.');
    expect(attempts[2].error).to.match(/could not be reached: it closed the connection/);
    expect(receiver.received.every(({ headers }) => headers['webhook-id'] === id)).to.equal(true);
    expect(attempts[3].duration_ms).to.be.below(5000);
  });

  it('honour Retry-After in seconds and as a date, shorter and longer than the schedule', async () => {
    const webhook = await create();
    receiver.answer = (res, _, nth) => {
      const inTwo = new Date(Date.now() + 2000).toUTCString();
      if (nth > 2) return void res.writeHead(204).end();
      res.writeHead(503, { 'retry-after': nth === 1 ? '1' : inTwo }).end();
    };
    const { id } = await test(webhook.id);
    await inState(webhook.id, id, 'delivered');
    const [first, second, third] = receiver.of(id).map(({ at }) => at);
    expect(second! - first!).to.be.at.least(980);
    // The date has whole seconds.
    expect(third! - second!).to.be.at.least(980);
  });

  it('disable the webhook at a 410', async () => {
    const webhook = await create();
    receiver.answer = (res) => void res.writeHead(410).end();
    const { id } = await test(webhook.id);
    expect((await inState(webhook.id, id, 'failed')).attempts).to.have.length(1);
    const { body } = await service.api('GET', `/v1/webhooks/${webhook.id}`);
    expect(body).to.include({ enabled: false, disabled_reason: 'The receiver answered 410 (Gone).' });
    for (const path of ['test', `deliveries/${id}/retry`]) {
      const refused = await service.api('POST', `/v1/webhooks/${webhook.id}/${path}`);
      expect([refused.status, refused.body.error.type]).to.deep.equal([409, 'webhook_disabled']);
      expect(refused.headers.get('x-should-retry')).to.equal('false');
    }
    const enabled = await service.api('PATCH', `/v1/webhooks/${webhook.id}`, { enabled: true });
    expect(enabled.body).to.include({ enabled: true, disabled_reason: null });
    receiver.answer = (res) => void res.writeHead(200).end();
    expect((await service.api('POST', `/v1/webhooks/${webhook.id}/deliveries/${id}/retry`)).status).to.equal(202);
    expect((await inState(webhook.id, id, 'delivered')).attempts).to.have.length(2);
  });

  it('disable the webhook after 72 hours of nothing but failures, and one success starts the count anew', async () => {
    const webhook = await create();
    const failingSince = async (hours: number): Promise<void> => {
      await service.db.query('UPDATE webhooks SET failing_since = now() - make_interval(hours => $2) WHERE id = $1', [
        webhook.id,
        hours,
      ]);
    };
    await failingSince(100);
    const { id: fine } = await test(webhook.id);
    await inState(webhook.id, fine, 'delivered');

    receiver.answer = (res) => void res.writeHead(500).end();
    const { id } = await test(webhook.id);
    await inState(webhook.id, id, 'failed');
    expect((await service.api('GET', `/v1/webhooks/${webhook.id}`)).body.enabled).to.equal(true);

    await failingSince(71);
    await inState(webhook.id, (await test(webhook.id)).id, 'failed');
    expect((await service.api('GET', `/v1/webhooks/${webhook.id}`)).body.enabled).to.equal(true);

    await failingSince(72);
    await inState(webhook.id, (await test(webhook.id)).id, 'failed');
    expect((await service.api('GET', `/v1/webhooks/${webhook.id}`)).body).to.include({
      enabled: false,
      disabled_reason: 'Every attempt failed for 72 hours.',
    });
  });

  it('are signed with both secrets for 24 hours after a rotation', async () => {
    const webhook = await create();
    const { status, body } = await service.api('POST', `/v1/webhooks/${webhook.id}/rotate-secret`);
    expect([status, body.secret === webhook.secret]).to.deep.equal([200, false]);
    const signedBy = async (): Promise<boolean[]> => {
      const { id } = await test(webhook.id);
      await inState(webhook.id, id, 'delivered');
      return [webhook.secret, body.secret].map((secret) => verifies(secret, receiver.of(id)[0]!));
    };
    expect(await signedBy()).to.deep.equal([true, true]);
    const age = (interval: string): Promise<unknown> =>
      service.db.query(`UPDATE webhooks SET previous_secret_until = previous_secret_until - interval '${interval}'`);
    await age('23 hours 59 minutes');
    expect(await signedBy()).to.deep.equal([true, true]);
    await age('1 minute');
    expect(await signedBy()).to.deep.equal([false, true]);
  });

  it('are sent again on request: at once in place of a scheduled attempt, and once more when delivered', async () => {
    const webhook = await create();
    receiver.answer = (res, _, nth) => void res.writeHead(nth === 1 ? 503 : 204, { 'retry-after': '3600' }).end();
    const { id } = await test(webhook.id);
    await eventually(async () => (await delivery(webhook.id, id)).attempts.length === 1);
    const waiting = await delivery(webhook.id, id);
    expect(Date.parse(waiting.next_attempt_at) - Date.now()).to.be.within(3_500_000, 3_960_000);

    const path = `/v1/webhooks/${webhook.id}/deliveries/${id}/retry`;
    const { status, body } = await service.api('POST', path);
    expect([status, body.state, body.id]).to.deep.equal([202, 'pending', id]);
    expect((await inState(webhook.id, id, 'delivered')).attempts).to.have.length(2);

    await service.api('POST', path);
    await eventually(async () => (await delivery(webhook.id, id)).attempts.length === 3);
    expect(await inState(webhook.id, id, 'delivered')).to.include({ next_attempt_at: null });
    expect(receiver.of(id)).to.have.length(3);
  });

  it('are not made while the webhook is disabled, and not sent later', async () => {
    const webhook = await create();
    await service.api('PATCH', `/v1/webhooks/${webhook.id}`, { enabled: false });
    const session = await service.session();
    await service.send(session, 'Hello');
    await service.ended(session);
    await service.api('PATCH', `/v1/webhooks/${webhook.id}`, { enabled: true });
    const { id } = await test(webhook.id);
    await inState(webhook.id, id, 'delivered');
    const { body } = await service.api('GET', `/v1/webhooks/${webhook.id}/deliveries`);
    expect(body.items.map((item: { event_type: string }) => item.event_type)).to.deep.equal(['webhook.test']);
  });

  it('go nowhere once the webhook is deleted', async () => {
    const webhook = await create();
    receiver.answer = (res) => void res.writeHead(500).end();
    const { id } = await test(webhook.id);
    await eventually(() => receiver.of(id).length === 1);
    expect((await service.api('DELETE', `/v1/webhooks/${webhook.id}`)).status).to.equal(204);
    const [row] = await service.db.query('SELECT secret, previous_secret FROM webhooks WHERE id = $1', [webhook.id]);
    expect(row).to.deep.equal({ secret: null, previous_secret: null });
    const before = receiver.of(id).length;
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(receiver.of(id).length - before).to.be.at.most(1);
  });

  it('time out after 15 s without a status', async function () {
    this.timeout(40_000);
    const webhook = await create();
    receiver.answer = (res, _, nth) => void (nth > 1 && res.writeHead(204).end());
    const { id } = await test(webhook.id);
    const { attempts } = await eventually(async () => {
      const found = await delivery(webhook.id, id);
      return found.state === 'delivered' && found;
    }, 30_000);
    expect(attempts[0]).to.include({ status: null, error: 'The receiver did not answer within 15 s.' });
    expect(attempts[0].duration_ms).to.be.within(14_900, 18_000);
  });
});

import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { failure, steps, text, toolUse, wait } from '../support/scripted-model.js';
import { startWebhookReceiver, verifies, type WebhookReceiver } from '../support/webhook-receiver.js';
import { customResult, customTool, requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { webhookCalls, type WebhookCalls } from '../support/webhooks.js';
import { connectClient } from '../support/workflow-history.js';
import { useTurnService, useWebhookReceiver } from '../support/use.js';

const RETRY_SECONDS = [0.2, 0.4, 0.6];

describe('deliveries of webhooks', () => {
  let hooks: WebhookCalls;
  const receiver = useWebhookReceiver();
  const service = useTurnService(() => ({
    config: { mcpAllowedHosts: [receiver.host], webhookDeliveries: true, webhookRetrySeconds: RETRY_SECONDS },
  }));
  before(async () => {
    hooks = webhookCalls(service.api, receiver.url);
  });
  beforeEach(async () => {
    receiver.received.length = 0;
    receiver.answer = (res) => void res.writeHead(204).end();
    await service.db.query('UPDATE webhooks SET deleted_at = now(), enabled = false WHERE deleted_at IS NULL');
  });

  it('deliveries of webhooks report the end of a turn, signed, with the ids that the receiver needs to read the rest', async () => {
    const webhook = await hooks.create();
    const session = await service.session({ metadata: { order: '17' } });
    const turnId = await service.send(session, 'Hello');
    const end = await service.ended(session);
    await eventually('a request', () => receiver.received.length > 0);
    const [request] = receiver.received;
    expect(request!.payload).to.deep.equal({
      type: 'turn.completed',
      timestamp: end.created_at,
      data: { session_id: session, turn_id: turnId, event_id: end.id, metadata: { order: '17' } },
    });
    expect(verifies(webhook.secret, request!)).to.equal(true);
    expect(verifies(`whsec_${Buffer.alloc(32).toString('base64')}`, request!)).to.equal(false);
    const shown = await hooks.inState(webhook.id, request!.id, 'delivered');
    expect(await hooks.deliveries(webhook.id)).to.deep.equal([shown]);
    expect(shown).to.deep.include({
      event_type: 'turn.completed',
      event_id: end.id,
      session_id: session,
      turn_id: turnId,
      next_attempt_at: null,
      created_at: end.created_at,
    });
    expect(shown.attempts[0]).to.include({ status: 204, error: null });
  });

  it('deliveries of webhooks carry no content, and go to subscribers of the project alone', async () => {
    const files = await hooks.create({ event_types: ['agent.file', 'turn.completed'] });
    const others = service.as(await service.newKey({ project: 'strangers' }));
    await others('POST', '/v1/webhooks', { url: `${receiver.url}/strangers`, event_types: ['turn.completed'] });
    await hooks.create({ event_types: ['turn.failed'] });
    await hooks.create({ event_types: ['turn.completed'], enabled: false });
    service.model.on(
      /deliver/,
      steps([toolUse('deliver_file', { filename: 'secret-name.txt', content: 'secret' })], [text('SECRET ANSWER')]),
    );
    const session = await service.session();
    const [{ turn_id: turnId }] = await service.run(session, 'deliver it');
    await eventually('both requests', () => receiver.received.length >= 2);
    expect((await hooks.deliveries(files.id)).map(({ event_type }) => event_type)).to.deep.equal([
      'turn.completed',
      'agent.file',
    ]);
    // A delivery is stored with its event.
    expect(await service.db.query('SELECT FROM webhook_deliveries WHERE turn_id = $1', [turnId])).to.have.length(2);
    expect(receiver.received.map(({ payload }) => payload.type).sort()).to.deep.equal(['agent.file', 'turn.completed']);
    expect(receiver.received.every((request) => verifies(files.secret, request))).to.equal(true);
    expect(receiver.received.map((request) => request.body).join()).to.not.match(/secret/i);
  });

  it('deliveries of webhooks are tried again by the schedule, with the same id and body, and then given up', async () => {
    const webhook = await hooks.create();
    receiver.answer = (res) => void res.writeHead(500).end('SECRET');
    const id = await hooks.test(webhook.id);
    const shown = await hooks.inState(webhook.id, id, 'failed');
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
    expect(shown.attempts.map(({ status, error }) => ({ status, error }))).to.deep.equal(
      Array(4).fill({ status: 500, error: 'The receiver answered 500.' }),
    );
    expect(shown).to.include({ next_attempt_at: null, event_id: null, event_type: 'webhook.test' });
    expect(JSON.stringify(await service.db.query('SELECT * FROM webhook_deliveries'))).to.not.contain('SECRET');
  });

  it('deliveries of webhooks count only a 2xx as success: redirects, other statuses and broken connections are failures', async () => {
    const webhook = await hooks.create();
    const answers: ((res: Parameters<WebhookReceiver['answer']>[0]) => void)[] = [
      (res) => res.writeHead(302, { location: '/elsewhere' }).end(),
      (res) => res.writeHead(307, { location: '/elsewhere' }).end(),
      (res) => res.destroy(),
      // A body that never ends.
      (res) => void res.writeHead(200).write('more to come'),
    ];
    receiver.answer = (res, _, nth) => answers[nth - 1]!(res);
    const id = await hooks.test(webhook.id);
    const { attempts } = await hooks.inState(webhook.id, id, 'delivered');
    expect(attempts.map(({ status }) => status)).to.deep.equal([302, 307, null, 200]);
    expect(attempts[0]!.error).to.equal('The receiver answered 302: redirects are not followed.');
    expect(attempts[2]!.error).to.match(/could not be reached: it closed the connection/);
    expect(receiver.received.every(({ headers }) => headers['webhook-id'] === id)).to.equal(true);
    expect(attempts[3]!.duration_ms).to.be.below(5000);
  });

  it('deliveries of webhooks honour Retry-After in seconds and as a date, shorter and longer than the schedule', async () => {
    const webhook = await hooks.create();
    receiver.answer = (res, _, nth) => {
      const inTwo = new Date(Date.now() + 2000).toUTCString();
      if (nth > 2) return void res.writeHead(204).end();
      res.writeHead(503, { 'retry-after': nth === 1 ? '1' : inTwo }).end();
    };
    const id = await hooks.test(webhook.id);
    await hooks.inState(webhook.id, id, 'delivered');
    const [first, second, third] = receiver.of(id).map(({ at }) => at);
    expect(second! - first!).to.be.at.least(980);
    // The date has whole seconds.
    expect(third! - second!).to.be.at.least(980);
  });

  it('deliveries of webhooks disable the webhook at a 410', async () => {
    const webhook = await hooks.create();
    receiver.answer = (res) => void res.writeHead(410).end();
    const id = await hooks.test(webhook.id);
    expect((await hooks.inState(webhook.id, id, 'failed')).attempts).to.have.length(1);
    const { body } = await service.api('GET', `/v1/webhooks/${webhook.id}`);
    expect(body).to.include({ enabled: false, disabled_reason: 'The receiver answered 410 (Gone).' });
    for (const path of ['test', `deliveries/${id}/retry`, 'retry-failed']) {
      const refused = await service.api('POST', `/v1/webhooks/${webhook.id}/${path}`);
      expect([refused.status, refused.body.error.type]).to.deep.equal([409, 'webhook_disabled']);
      expect(refused.headers.get('x-should-retry')).to.equal('false');
    }
    expect((await hooks.delivery(webhook.id, id)).state).to.equal('failed');
    const metrics = (await service.as(null)('GET', '/metrics')).body as string;
    expect(metrics).to.match(/^webhooks_disabled_total\{reason="gone"\} [1-9]/m);
    expect(metrics).to.match(/^webhooks_disabled_total\{reason="failures"\} \d/m);
    const enabled = await service.api('PATCH', `/v1/webhooks/${webhook.id}`, { enabled: true });
    expect(enabled.body).to.include({ enabled: true, disabled_reason: null });
    receiver.answer = (res) => void res.writeHead(200).end();
    expect((await service.api('POST', `/v1/webhooks/${webhook.id}/deliveries/${id}/retry`)).status).to.equal(202);
    expect((await hooks.inState(webhook.id, id, 'delivered')).attempts).to.have.length(2);
  });

  it('deliveries of webhooks disable the webhook after 72 hours of nothing but failures, and one success starts the count anew', async () => {
    const webhook = await hooks.create();
    const failingSince = async (hours: number): Promise<void> => {
      await service.db.query('UPDATE webhooks SET failing_since = now() - make_interval(hours => $2) WHERE id = $1', [
        webhook.id,
        hours,
      ]);
    };
    await failingSince(100);
    const fine = await hooks.test(webhook.id);
    await hooks.inState(webhook.id, fine, 'delivered');

    receiver.answer = (res) => void res.writeHead(500).end();
    const id = await hooks.test(webhook.id);
    await hooks.inState(webhook.id, id, 'failed');
    expect((await service.api('GET', `/v1/webhooks/${webhook.id}`)).body.enabled).to.equal(true);

    await failingSince(71);
    await hooks.inState(webhook.id, await hooks.test(webhook.id), 'failed');
    expect((await service.api('GET', `/v1/webhooks/${webhook.id}`)).body.enabled).to.equal(true);

    await failingSince(72);
    await hooks.inState(webhook.id, await hooks.test(webhook.id), 'failed');
    expect((await service.api('GET', `/v1/webhooks/${webhook.id}`)).body).to.include({
      enabled: false,
      disabled_reason: 'Every attempt failed for 72 hours.',
    });
  });

  it('deliveries of webhooks are signed with both secrets for 24 hours after a rotation', async () => {
    const webhook = await hooks.create();
    const { status, body } = await service.api('POST', `/v1/webhooks/${webhook.id}/rotate-secret`);
    expect([status, body.secret === webhook.secret]).to.deep.equal([200, false]);
    const signedBy = async (): Promise<boolean[]> => {
      const id = await hooks.test(webhook.id);
      await hooks.inState(webhook.id, id, 'delivered');
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

  it('deliveries of webhooks are sent again on request: at once in place of a scheduled attempt, and once more when delivered', async () => {
    const webhook = await hooks.create();
    receiver.answer = (res, _, nth) => void res.writeHead(nth === 1 ? 503 : 204, { 'retry-after': '3600' }).end();
    const id = await hooks.test(webhook.id);
    const waiting = await hooks.until(webhook.id, id, ({ attempts }) => attempts.length === 1);
    expect(Date.parse(waiting.next_attempt_at!) - Date.now()).to.be.within(3_500_000, 3_960_000);

    const path = `/v1/webhooks/${webhook.id}/deliveries/${id}/retry`;
    const { status, body } = await service.api('POST', path);
    expect([status, body.state, body.id]).to.deep.equal([202, 'pending', id]);
    expect((await hooks.inState(webhook.id, id, 'delivered')).attempts).to.have.length(2);

    await service.api('POST', path);
    await hooks.until(webhook.id, id, ({ attempts }) => attempts.length === 3);
    expect(await hooks.inState(webhook.id, id, 'delivered')).to.include({ next_attempt_at: null });
    expect(receiver.of(id)).to.have.length(3);
  });

  it('deliveries of webhooks are not made while the webhook is disabled, and not sent later', async () => {
    const webhook = await hooks.create();
    await service.api('PATCH', `/v1/webhooks/${webhook.id}`, { enabled: false });
    const session = await service.session();
    await service.run(session, 'Hello');
    await service.api('PATCH', `/v1/webhooks/${webhook.id}`, { enabled: true });
    const id = await hooks.test(webhook.id);
    await hooks.inState(webhook.id, id, 'delivered');
    expect((await hooks.deliveries(webhook.id)).map(({ event_type }) => event_type)).to.deep.equal(['webhook.test']);
  });

  it('deliveries of webhooks go nowhere once the webhook is deleted', async () => {
    const webhook = await hooks.create();
    receiver.answer = (res) => void res.writeHead(500).end();
    const id = await hooks.test(webhook.id);
    await eventually('the first request', () => receiver.of(id).length === 1);
    expect((await service.api('DELETE', `/v1/webhooks/${webhook.id}`)).status).to.equal(204);
    const [row] = await service.db.query('SELECT secret, previous_secret FROM webhooks WHERE id = $1', [webhook.id]);
    expect(row).to.deep.equal({ secret: null, previous_secret: null });
    const before = receiver.of(id).length;
    const { client, close } = await connectClient(process.env.TEST_TEMPORAL_ADDRESS!);
    await client.workflow.getHandle(id).result();
    await close();
    expect(receiver.of(id).length - before).to.be.at.most(1);
    const left = await service.db.query('SELECT state, next_attempt_at FROM webhook_deliveries WHERE id = $1', [id]);
    expect(left, 'no share of its project').to.deep.equal([{ state: 'failed', next_attempt_at: null }]);
  });

  it('deliveries of webhooks reach no address that is not public, even if the url was changed before the attempt', async () => {
    const webhook = await hooks.create();
    const closed = await startWebhookReceiver();
    const urls = [closed.url, closed.url.replace('127.0.0.1', 'localhost'), closed.url.replace('http:', 'https:')];
    for (const url of urls) {
      await service.db.query('UPDATE webhooks SET url = $2 WHERE id = $1', [webhook.id, url]);
      const id = await hooks.test(webhook.id);
      const { attempts } = await hooks.until(webhook.id, id, ({ attempts }) => attempts.length > 0);
      expect(attempts[0]).to.include({
        status: null,
        error: 'The address of the receiver is not public, or the url is not https.',
      });
    }
    expect(closed.received).to.deep.equal([]);
    await closed.close();
  });

  it('deliveries of webhooks report turns that were cancelled and that failed', async () => {
    const webhook = await hooks.create({ event_types: ['turn.cancelled', 'turn.failed'] });
    service.model.on(/wait/, text('never', { before: { 0: wait(600_000) } }));
    service.model.on(/fail/, failure('invalid_request_error'));
    const [cancelled, failed] = [await service.session(), await service.session()];
    await service.send(cancelled, 'wait');
    await service.run(failed, 'fail');
    await service.cancel(cancelled);
    await eventually('both requests', () => receiver.received.length >= 2);
    expect(receiver.received.map(({ payload }) => [payload.type, payload.data.session_id]).sort()).to.deep.equal([
      ['turn.cancelled', cancelled],
      ['turn.failed', failed],
    ]);
    expect(await hooks.deliveries(webhook.id)).to.have.length(2);
  });

  it('deliveries of webhooks report that a turn needs answers, again when one leaves some open, and carry no input', async () => {
    const webhook = await hooks.create({ event_types: ['agent.requires_action'] });
    const uses = [
      toolUse('get_weather', { city: 'SECRET' }, { id: 'toolu_1' }),
      toolUse('get_weather', { city: 'Rome' }, { id: 'toolu_2' }),
    ];
    service.model.on(/weather/, steps(uses, 'Done.'));
    const session = await service.session({ tools: [customTool('get_weather')], metadata: { order: '18' } });
    const turnId = await service.send(session, 'weather');
    await requiredActions(service, session, 2);
    await eventually('the first request', () => receiver.received.length === 1);
    await sendAnswers(service, session, [customResult('toolu_1', 'SECRET')]);
    await requiredActions(service, session, 1);
    await eventually('the second request', () => receiver.received.length === 2);
    await sendAnswers(service, session, [customResult('toolu_2', 'rain')]);
    await service.ended(session);

    const events = (await service.history(session)).filter(({ type }) => type === 'agent.requires_action');
    expect(events).to.have.length(2);
    expect(receiver.received.map(({ payload }) => payload)).to.deep.equal(
      events.map(({ type, id, created_at }) => ({
        type,
        timestamp: created_at,
        data: { session_id: session, turn_id: turnId, event_id: id, metadata: { order: '18' } },
      })),
    );
    expect(receiver.received.every((request) => verifies(webhook.secret, request))).to.equal(true);
    expect(receiver.received.map(({ body }) => body).join()).to.not.include('SECRET');
    expect(await hooks.deliveries(webhook.id)).to.have.length(2);
  });
});

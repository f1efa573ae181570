import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { webhookCalls, type WebhookCalls } from '../support/webhooks.js';
import { fetchHistory, resetToStart, textOfHistory } from '../support/workflow-history.js';
import { useTemporalClient, useTurnService, useWebhookReceiver } from '../support/use.js';

/** What docs/webhooks.md promises to operators who look at a delivery in Temporal, or act on it there. */
describe('operators and deliveries', () => {
  let hooks: WebhookCalls;
  const client = useTemporalClient();
  const receiver = useWebhookReceiver();
  const service = useTurnService(() => ({
    config: { mcpAllowedHosts: [receiver.host], webhookDeliveries: true, webhookRetrySeconds: [3600] },
  }));
  before(async () => {
    hooks = webhookCalls(service.api, receiver.url);
  });
  beforeEach(() => {
    receiver.answer = (res, _, nth) => void res.writeHead(nth === 1 ? 500 : 204).end();
  });

  /** A delivery that failed once and waits for an hour. */
  const waiting = async (): Promise<{ webhookId: string; id: string }> => {
    const { id: webhookId } = await hooks.create({ event_types: ['turn.failed'] });
    const id = await hooks.test(webhookId);
    await hooks.until(webhookId, id, ({ attempts }) => attempts.length === 1);
    return { webhookId, id };
  };

  it('operators find the deliveries of a session, and read no content in them', async () => {
    const metadata = { note: 'SECRET' };
    const { id: webhookId } = await hooks.create({ url: `${receiver.url}?token=SECRET` });
    receiver.answer = (res) => void res.writeHead(204).end('SECRET');
    const session = await service.session({ metadata });
    const [{ turn_id: turnId }] = await service.run(session, 'SECRET');
    const [{ id } = { id: '' }] = await hooks.deliveries(webhookId);
    await hooks.inState(webhookId, id, 'delivered');
    await eventually('the search attribute', async () => {
      const query = `WorkflowType = 'webhookDelivery' AND SessionId = '${session}'`;
      for await (const { workflowId } of client.workflow.list({ query })) if (workflowId === id) return true;
      return false;
    });
    const described = await client.workflow.getHandle(id).describe();
    expect(await described.staticSummary()).to.equal(`turn.completed to ${webhookId}`);
    expect(described.memo).to.include({ webhook: webhookId, session, turn: turnId });
    expect(textOfHistory(await fetchHistory(client, id)))
      .to.include(id)
      .and.not.include('SECRET');
  });

  it('operators send one now with the signal retry', async () => {
    const { webhookId, id } = await waiting();
    await client.workflow.getHandle(id).signal('retry');
    expect((await hooks.inState(webhookId, id, 'delivered')).attempts).to.have.length(2);
    expect(await client.workflow.getHandle(id).result()).to.equal(undefined);
  });

  it('operators send one again that is closed by a reset', async () => {
    const { webhookId, id } = await waiting();
    await client.workflow.getHandle(id).signal('retry');
    await hooks.inState(webhookId, id, 'delivered');
    await client.workflow.getHandle(id).result();
    await resetToStart(client, id);
    const again = await hooks.until(webhookId, id, ({ attempts }) => attempts.length >= 3);
    expect(again.state).to.equal('delivered');
    expect(new Set(receiver.of(id).map(({ body }) => body)).size).to.equal(1);
  });

  it('operators give one up with cancel', async () => {
    const { webhookId, id } = await waiting();
    await client.workflow.getHandle(id).cancel();
    const given = await hooks.inState(webhookId, id, 'failed');
    expect(given).to.include({ next_attempt_at: null });
    expect(receiver.of(id)).to.have.length(1);
  });

  it('operators cannot lose one: a terminated workflow is started again when its attempt is due, or at POST retry', async () => {
    const { webhookId, id } = await waiting();
    await client.workflow.getHandle(id).terminate();
    await service.db.query(`UPDATE webhook_deliveries SET next_attempt_at = now(), wake_at = now() WHERE id = $1`, [
      id,
    ]);
    await hooks.inState(webhookId, id, 'delivered');

    const other = await waiting();
    await client.workflow.getHandle(other.id).terminate();
    await service.api('POST', `/v1/webhooks/${other.webhookId}/deliveries/${other.id}/retry`);
    expect((await hooks.inState(other.webhookId, other.id, 'delivered')).attempts).to.have.length(2);
  });
});

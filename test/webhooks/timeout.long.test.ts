import { expect } from 'chai';
import { startTurnService } from '../support/turns.js';
import { startWebhookReceiver } from '../support/webhook-receiver.js';
import { webhookCalls } from '../support/webhooks.js';

describe('a delivery whose receiver sends no status', () => {
  it('a delivery whose receiver sends no status times out after 15 s and is tried again', async () => {
    const receiver = await startWebhookReceiver();
    receiver.answer = (res, _, nth) => void (nth > 1 && res.writeHead(204).end());
    const service = await startTurnService({
      config: { mcpAllowedHosts: [receiver.host], webhookDeliveries: true, webhookRetrySeconds: [0.2] },
    });
    const hooks = webhookCalls(service.api, receiver.url);
    const webhook = await hooks.create();
    const id = await hooks.test(webhook.id);
    const { attempts } = await hooks.inState(webhook.id, id, 'delivered');
    expect(attempts[0]).to.include({ status: null, error: 'The receiver did not answer within 15 s.' });
    expect(attempts[0]!.duration_ms).to.be.within(14_900, 60_000);
    await service.close();
    await receiver.close();
  });
});

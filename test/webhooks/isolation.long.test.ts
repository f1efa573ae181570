import { expect } from 'chai';
import { MAX_STARTED_PER_PROJECT } from '../../src/webhooks/start-deliveries.js';
import { eventually } from '../support/eventually.js';
import { useTurnService, useWebhookReceiver } from '../support/use.js';
import { insertBacklog, webhookCalls } from '../support/webhooks.js';

const BACKLOG = 400;

for (const attempts of [0, 1]) {
  describe(`a receiver that hangs under a backlog of ${attempts === 0 ? 'first attempts' : 'retries'} of its project`, () => {
    const hanging = useWebhookReceiver();
    const receiver = useWebhookReceiver();
    const service = useTurnService(() => ({
      config: { mcpAllowedHosts: [hanging.host, receiver.host], webhookDeliveries: true, webhookRetrySeconds: [] },
    }));
    before(async () => {
      hanging.answer = () => undefined;
      const { id } = await webhookCalls(service.api, hanging.url).create();
      await insertBacklog(service.db, id, BACKLOG, attempts);
      await eventually('the share of the project', () => hanging.received.length >= MAX_STARTED_PER_PROJECT);
    });

    it('a receiver that hangs has its share of the slots, and delays neither other projects nor turns', async () => {
      const api = service.as(await service.newKey({ project: 'others' }));
      const others = webhookCalls(api, receiver.url);
      const { id } = await others.create();
      for (let n = 0; n < 3; n += 1) {
        const delivery = await others.test(id);
        await others.inState(id, delivery, 'delivered');
        await api('POST', `/v1/webhooks/${id}/deliveries/${delivery}/retry`);
        await others.until(id, delivery, (shown) => shown.attempts.length === 2);
      }
      const session = await service.session();
      await service.send(session, 'Hello');
      expect(await service.ended(session)).to.include({ type: 'turn.completed' });
      // Far from the end of the backlog: nothing above waited for it.
      expect(hanging.received.length).to.be.below(BACKLOG);
      const [started] = await service.db.query<{ count: number }[]>(
        `SELECT count(*)::integer AS count FROM webhook_deliveries
         WHERE state = 'pending' AND attempt_count = $1 AND wake_at > now() AND next_attempt_at <= now()`,
        [attempts],
      );
      expect(started!.count, 'the rest waits in the table').to.be.at.most(MAX_STARTED_PER_PROJECT);
    });

    if (attempts === 1) {
      it('a receiver that hangs does not delay first attempts of its own project', async () => {
        const hooks = webhookCalls(service.api, receiver.url);
        const { id } = await hooks.create();
        await hooks.inState(id, await hooks.test(id), 'delivered');
        expect(hanging.received.length).to.be.below(BACKLOG);
      });
    }
  });
}

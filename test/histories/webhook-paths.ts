import { webhookCalls, type ShownDelivery } from '../support/webhooks.js';
import { SECRET, simple, type Path, type Scene } from './path.js';

/** Ends a turn whose webhook's receiver answers with these statuses, one after the other; waits for the delivery. */
async function deliver(
  scene: Scene,
  statuses: number[],
  holds: (delivery: ShownDelivery) => boolean,
): Promise<{ webhookId: string; id: string }> {
  const { service, mcp } = scene;
  let requests = 0;
  mcp.options.gateway = (_req, res) => {
    res.writeHead(statuses[(requests += 1) - 1]!).end(SECRET);
    return true;
  };
  service.model.reply(SECRET);
  const hooks = webhookCalls(service.api, `${mcp.url}?token=${SECRET}`);
  const { id: webhookId } = await hooks.create({ description: SECRET });
  await simple(scene, { metadata: { note: SECRET } });
  const [delivery] = await hooks.deliveries(webhookId);
  const { id } = await hooks.until(webhookId, delivery!.id, holds);
  return { webhookId, id };
}

const isDelivered = ({ state }: ShownDelivery): boolean => state === 'delivered';
const hasFailedOnce = ({ attempts }: ShownDelivery): boolean => attempts.length === 1;

/** The workflow of a delivery, on every path. */
export const WEBHOOK_PATHS: Path[] = [
  {
    name: 'webhook-delivered',
    play: async (scene) => (await deliver(scene, [204], isDelivered)).id,
  },
  {
    name: 'webhook-failed',
    options: { config: { webhookRetrySeconds: [0.5] } },
    play: async (scene) => (await deliver(scene, [500, 500], ({ state }) => state === 'failed')).id,
  },
  {
    name: 'webhook-retried',
    options: { config: { webhookRetrySeconds: [0.5, 3600] } },
    play: async (scene) => (await deliver(scene, [500, 204], isDelivered)).id,
  },
  {
    name: 'webhook-signalled',
    options: { config: { webhookRetrySeconds: [3600] } },
    async play(scene) {
      const { webhookId, id } = await deliver(scene, [500, 204], hasFailedOnce);
      await scene.service.api('POST', `/v1/webhooks/${webhookId}/deliveries/${id}/retry`);
      return id;
    },
  },
  {
    name: 'webhook-cancelled',
    options: { config: { webhookRetrySeconds: [3600] } },
    async play(scene) {
      const { id } = await deliver(scene, [500], hasFailedOnce);
      await scene.client.workflow.getHandle(id).cancel();
      return id;
    },
  },
];

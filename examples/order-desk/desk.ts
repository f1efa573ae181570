import type { WaitingCall, RunResult } from '@agent-session-service/client';
import { appendOnce } from './append-once.js';
import { orders, type Order } from './orders.js';
import { client } from './service.js';
import { prepare, sessionOf, taskOf } from './setup.js';

/** Handles every order, all at once. Kill it at any time: started again, it goes on with the same sessions and turns. */
const { APPROVE_UP_TO = '100' } = process.env;

/** The result may not have reached the service before a crash, so the call may come again under the same id. */
function notifyCustomer({ order, text }: { order: string; text: string }, action: WaitingCall): object {
  const isNew = appendOnce('outbox.jsonl', { key: action.tool_use_id, order, text });
  return { sent: true, now: isNew };
}

/** Small refunds need no person. For others the call stays open, until `npm run approve` answers it. */
function confirm({ input }: WaitingCall): 'allow' | undefined {
  return Number(input.amount) <= Number(APPROVE_UP_TO) ? 'allow' : undefined;
}

async function handle(order: Order): Promise<RunResult> {
  const id = await sessionOf(order, modelId, serverId);
  console.log(`${order.order} begins or goes on in ${id}`);
  const message = { content: taskOf(order, modelId), skills: [skillId] };
  return client.run(id, message, {
    idempotencyKey: `refund-${order.order}`,
    tools: { notify_customer: notifyCustomer },
    confirm,
  });
}

const { modelId, serverId, skillId } = await prepare();
const results = await Promise.all(
  orders.map(async (order) => {
    const result = await handle(order);
    console.log(`${order.order} ${result.status} in ${result.turnId}`);
    return result;
  }),
);
process.exitCode = results.every(({ status }) => status === 'completed') ? 0 : 1;

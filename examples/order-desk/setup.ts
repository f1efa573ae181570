import { readFile } from 'node:fs/promises';
import type { NewSession } from '@agent-session-service/client';
import { APP, client } from './service.js';
import type { Order } from './orders.js';

const { ORDERS_PORT = '7301' } = process.env;

/** What each session of the desk needs. Everything that exists already is found again. */
export async function prepare(): Promise<{ modelId: string; serverId: string; skillId: string }> {
  const { items: models } = await client.listModels({ limit: 1 });
  return { modelId: models[0]!.id, serverId: await ordersServer(), skillId: await refundPolicy() };
}

async function ordersServer(): Promise<string> {
  const name = 'orders';
  for await (const server of client.eachMcpServer()) if (server.name === name) return server.id;
  return (await client.registerMcpServer({ name, url: `http://127.0.0.1:${ORDERS_PORT}/mcp` })).id;
}

async function refundPolicy(): Promise<string> {
  for await (const skill of client.eachSkill()) if (skill.name === 'refund-policy') return skill.id;
  const content = await readFile(new URL('skill/SKILL.md', import.meta.url));
  return (await client.uploadSkill({ filename: 'SKILL.md', content })).id;
}

/** The order's session. The key makes it the same one for a day, whatever happened to the process that created it. */
export async function sessionOf({ order }: Order, modelId: string, serverId: string): Promise<string> {
  const tools: NewSession['tools'] = [
    {
      type: 'mcp_toolset',
      mcp_server_id: serverId,
      configs: [{ name: 'refund_order', permission_policy: { type: 'always_ask' } }],
    },
    {
      type: 'custom',
      name: 'notify_customer',
      description: 'Writes to the customer of an order.',
      input_schema: {
        type: 'object',
        properties: { order: { type: 'string' }, text: { type: 'string' } },
        required: ['order', 'text'],
      },
    },
  ];
  const session = { model_id: modelId, mcp_servers: [serverId], tools, metadata: { app: APP, order } };
  return (await client.createSession(session, { idempotencyKey: `session-${order}` })).id;
}

/** The task of a session. The local model of `npm start` reads no text: it follows commands. */
export function taskOf({ order, customer, refund }: Order, modelId: string): string {
  if (modelId !== 'local-rules')
    return `${customer} asks for a refund of ${refund} for order ${order}. Follow the skill refund-policy.`;
  const input = (value: object): string => JSON.stringify(value);
  return [
    `call use_skill with ${input({ name: 'refund-policy' })} and find_order with ${input({ order })}`,
    `then call refund_order with ${input({ order, amount: refund })}`,
    `then call notify_customer with ${input({ order, text: `We have decided on ${order}.` })}`,
    `and deliver_file with ${input({ filename: `receipt-${order}.txt`, content: `Order ${order}, refund ${refund}` })}`,
  ].join(' ');
}

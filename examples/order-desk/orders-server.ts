import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema, type Tool } from '@modelcontextprotocol/sdk/types.js';
import { appendOnce } from './append-once.js';
import { orders } from './orders.js';

/** The shop's own system, as an MCP server: orders, and refunds that cost money. */
const { ORDERS_PORT = '7301', REFUND_MS = '500' } = process.env;

/** The same for each attempt of a call: with it a repeated refund is recognised. */
const KEY = 'agent-session-service/idempotency-key';

const order = { type: 'string', description: 'Such as A-17.' };
const tools: Tool[] = [
  {
    name: 'find_order',
    description: 'Tells what an order cost and who placed it.',
    inputSchema: { type: 'object', properties: { order }, required: ['order'] },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'refund_order',
    description: 'Pays money back for an order.',
    inputSchema: { type: 'object', properties: { order, amount: { type: 'number' } }, required: ['order', 'amount'] },
    // The service may repeat a call whose outcome is in doubt, because the key makes that safe.
    annotations: { idempotentHint: true },
  },
];

async function run(name: string, input: Record<string, unknown>, key: string): Promise<string> {
  const found = orders.find((one) => one.order === input.order);
  if (found === undefined) throw new Error(`There is no order ${String(input.order)}.`);
  if (name === 'find_order') return JSON.stringify({ customer: found.customer, cost: found.cost });
  const amount = Number(input.amount);
  if (!(amount > 0 && amount <= found.cost))
    throw new Error(`A refund of ${found.order} is above 0, at most ${found.cost}.`);
  const isNew = appendOnce('ledger.jsonl', { key, order: found.order, amount });
  console.log(`${found.order}: ${isNew ? `paid ${amount} back` : 'was paid back already'}`);
  // The bank takes its time. The money has gone by now.
  await sleep(Number(REFUND_MS));
  return `Paid back ${amount} for ${found.order}.`;
}

function protocol(): Server {
  const server = new Server({ name: 'orders', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    try {
      const text = await run(params.name, params.arguments ?? {}, String(params._meta?.[KEY]));
      return { content: [{ type: 'text', text }] };
    } catch (error) {
      return { content: [{ type: 'text', text: (error as Error).message }], isError: true };
    }
  });
  return server;
}

createServer((req, res) => {
  void (async () => {
    if (req.method !== 'POST') return res.writeHead(405).end();
    // Without sessions: after a restart every request is served as before.
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    await protocol().connect(transport);
    await transport.handleRequest(req, res, await json(req));
  })();
}).listen(Number(ORDERS_PORT), '127.0.0.1', () => console.log(`orders at http://127.0.0.1:${ORDERS_PORT}/mcp`));

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema, type Tool } from '@modelcontextprotocol/sdk/types.js';

/** The shop's own system, as an MCP server: it finds orders, pays money back, and asks how to deliver. */
const { SHOP_PORT = '7401' } = process.env;

const order = { type: 'string', description: 'Such as A-17.' };
const tools: Tool[] = [
  {
    name: 'find_order',
    description: 'Tells where an order is.',
    inputSchema: { type: 'object', properties: { order }, required: ['order'] },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'refund_order',
    title: 'Pay money back',
    description: 'Pays money back for an order.',
    inputSchema: { type: 'object', properties: { order, amount: { type: 'number' } }, required: ['order', 'amount'] },
    annotations: { destructiveHint: true },
  },
  {
    name: 'book_delivery',
    description: 'Books the delivery of an order, and asks the customer how.',
    inputSchema: { type: 'object', properties: { order }, required: ['order'] },
  },
];

/** How the customer is asked: a form that the page shows while the call runs. */
const DELIVERY = {
  type: 'object',
  properties: {
    how: { type: 'string', title: 'How', enum: ['To the door', 'To a shop nearby'] },
    floor: { type: 'integer', title: 'Floor', minimum: 0, maximum: 60 },
    note: { type: 'string', title: 'Note for the driver', maxLength: 200 },
    call: { type: 'boolean', title: 'Call before' },
  },
  required: ['how'],
} as const;

const QUESTION_TIMEOUT_MS = 600_000;

function protocol(): Server {
  const server = new Server({ name: 'shop', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params: { name, arguments: input = {} } }, { requestId }) => {
      const which = String(input.order);
      const say = (text: string): object => ({ content: [{ type: 'text', text }] });
      if (name === 'find_order') return say(`Order ${which} was sent yesterday and comes tomorrow.`);
      if (name === 'refund_order') return say(`Paid ${String(input.amount)} back for ${which}.`);
      const question = { message: `How do you want ${which} delivered?`, requestedSchema: structuredClone(DELIVERY) };
      const options = { timeout: QUESTION_TIMEOUT_MS, relatedRequestId: requestId };
      const { action, content } = await server.elicitInput(question as never, options);
      return say(action === 'accept' ? `Booked: ${JSON.stringify(content)}` : `Nothing is booked: ${action}.`);
    },
  );
  return server;
}

/** A question needs a session, because its answer comes in another request. */
const sessions = new Map<string, StreamableHTTPServerTransport>();

async function newSession(): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await protocol().connect(transport);
  return transport;
}

createServer((req, res) => {
  void (async () => {
    const id = req.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : await newSession();
    if (known === undefined) return res.writeHead(404).end();
    await known.handleRequest(req, res, req.method === 'POST' ? await json(req) : undefined);
    return undefined;
  })();
}).listen(Number(SHOP_PORT), '127.0.0.1', () => console.log(`the shop at http://127.0.0.1:${SHOP_PORT}/mcp`));

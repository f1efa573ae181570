/**
 * The baseline of `npm run bench`: Temporal, the model call and one stored row per step, without the rest of the service.
 * POST /sessions/{id} starts a workflow, GET /sessions/{id} streams the output of its activities.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import Anthropic from '@anthropic-ai/sdk';
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { bareActivities } from './activities.js';
import { CHANNEL } from './channel.js';

const TASK_QUEUE = 'bare-turns';
const [temporalAddress, databaseUrl, modelUrl, mcpUrl] = process.argv.slice(2) as [string, string, string, string];

/** The frames of each session's last turn, and their readers. */
const sessions = new Map<string, { frames: string[]; readers: Set<ServerResponse> }>();

function sessionOf(id: string): { frames: string[]; readers: Set<ServerResponse> } {
  let session = sessions.get(id);
  if (session === undefined) sessions.set(id, (session = { frames: [], readers: new Set() }));
  return session;
}

const isLast = (frame: string): boolean => frame.startsWith('event: turn.completed');

const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
await pool.query('CREATE TABLE IF NOT EXISTS bare_steps (id bigserial PRIMARY KEY, session_id text, content text)');
const listener = new pg.Client({ connectionString: databaseUrl });
await listener.connect();
listener.on('notification', ({ payload = '' }) => {
  const [sessionId = '', event = '', ...content] = payload.split(' ');
  const session = sessionOf(sessionId);
  const frame = `event: ${event}\ndata: ${JSON.stringify({ content: content.join(' ') })}\n\n`;
  session.frames.push(frame);
  for (const reader of session.readers) {
    reader.write(frame);
    if (isLast(frame)) reader.end();
  }
});
await listener.query(`LISTEN ${CHANNEL}`);

const mcp = new McpClient({ name: 'bare', version: '1' });
await mcp.connect(new StreamableHTTPClientTransport(new URL(mcpUrl)));
const logger = new DefaultLogger('WARN');
Runtime.install({ logger });
const connection = await NativeConnection.connect({ address: temporalAddress });
const worker = await Worker.create({
  connection,
  taskQueue: TASK_QUEUE,
  workflowBundle: await bundleWorkflowCode({
    logger,
    workflowsPath: fileURLToPath(new URL('workflow.ts', import.meta.url)),
  }),
  activities: bareActivities({
    pool,
    anthropic: new Anthropic({ apiKey: 'none', baseURL: modelUrl, maxRetries: 0 }),
    mcp,
  }),
  maxConcurrentActivityTaskExecutions: 200,
  maxConcurrentWorkflowTaskExecutions: 100,
});
const run = worker.run();
const client = new Client({ connection });

async function post(sessionId: string, content: string): Promise<void> {
  sessionOf(sessionId).frames = [];
  await client.workflow.start('bareTurn', {
    workflowId: randomUUID(),
    taskQueue: TASK_QUEUE,
    args: [sessionId, content],
    requestEagerStart: true,
  });
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const id = request.url!.slice('/sessions/'.length);
  if (request.method === 'POST') {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    await post(id, Buffer.concat(chunks).toString());
    response.writeHead(201, { 'Content-Type': 'application/json' }).end('{}');
    return;
  }
  const { frames, readers } = sessionOf(id);
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.write(`: hello\n\n${frames.join('')}`);
  if (frames.some(isLast)) {
    response.end();
    return;
  }
  readers.add(response);
  response.once('close', () => readers.delete(response));
}

const server = createServer((request, response) => void answer(request, response));
server.listen(0, '127.0.0.1', () => console.log(`listening on ${(server.address() as AddressInfo).port}`));

process.once('SIGTERM', () => {
  worker.shutdown();
  void run.then(() => process.exit(0));
});

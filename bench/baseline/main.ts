/**
 * The baseline of `npm run bench`: Temporal, the model call and one stored row per step, without the rest of the service.
 * A message starts a workflow; its stream is what the activities notify.
 */
import { fileURLToPath } from 'node:url';
import Anthropic from '@anthropic-ai/sdk';
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { TurnServer } from '../sides/turn-server.js';
import { bareActivities } from './activities.js';
import { CHANNEL } from './channel.js';

const TASK_QUEUE = 'bare-turns';
const [temporalAddress, databaseUrl, modelUrl, mcpUrl] = process.argv.slice(2) as [string, string, string, string];

const server = new TurnServer((sessionId, content) =>
  client.workflow.start('bareTurn', {
    workflowId: randomUUID(),
    taskQueue: TASK_QUEUE,
    args: [sessionId, content],
    requestEagerStart: true,
  }),
);
const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
await pool.query('CREATE TABLE IF NOT EXISTS bare_steps (id bigserial PRIMARY KEY, session_id text, content text)');
const listener = new pg.Client({ connectionString: databaseUrl });
await listener.connect();
listener.on('notification', ({ payload = '' }) => {
  const [sessionId = '', event = '', ...content] = payload.split(' ');
  server.send(sessionId, event, content.join(' '));
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

server.listen();

process.once('SIGTERM', () => {
  worker.shutdown();
  void run.then(() => process.exit(0));
});

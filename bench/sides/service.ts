import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { openDataSource } from '../../src/db/data-source.js';
import { freePort } from '../../src/platform/free-port.js';
import { keptSettings } from '../../dev/data-dir.js';
import { embeddedDatabaseUrl } from '../../dev/embedded-postgres.js';
import { apiClient } from '../../test/support/client.js';
import type { TestMcpServer } from '../../test/support/mcp-server.js';
import { createKeyOf, runCommandOf } from '../../test/support/earlier-build.js';
import { startRole, THIS_BUILD } from '../../test/support/role-process.js';
import { openSse } from '../../test/support/sse-reader.js';
import { startChild } from './child.js';
import { delayWire } from './delayed-wire.js';
import { turnFrames, type Side, type StartedSide } from './side.js';

/** `npm start`, with the servers that the other sides use too. */
export async function startService(
  dataDir: string,
  modelUrl: string,
  mcp: TestMcpServer,
  profiles: string,
): Promise<StartedSide> {
  const sizes = { context_window: 200_000, max_output_tokens: 8_000, supports_thinking: false };
  const entry = { id: 'scripted', display_name: 'Scripted', model: 'scripted-1', base_url: modelUrl, ...sizes };
  writeFileSync(modelsFileOf(dataDir), JSON.stringify([entry]));
  const port = await freePort();
  const { stop } = await startChild(
    [...(profiles === '' ? [] : ['--cpu-prof', '--cpu-prof-dir', profiles]), 'dev/start.mjs'],
    { ...process.env, ...settingsOf(dataDir, mcp), DATA_DIR: dataDir, PORT: String(port) },
    /Ctrl-C stops everything/,
  );
  const key = readFileSync(join(dataDir, 'demo-key'), 'utf8').trim();
  const db = await openDataSource(embeddedDatabaseUrl(dataDir)!, 1, 'bench');
  await db.query('UPDATE projects SET max_running_turns = $1', [MAX_TURNS]);
  await db.destroy();
  return {
    name: 'service',
    ...turnFrames,
    ...(await clientOf(`http://127.0.0.1:${port}`, key, mcp)),
    // Its model is the bench's, so that the process of `npm start` itself does nothing meanwhile.
    pids: [(JSON.parse(readFileSync(join(dataDir, 'service.pid'), 'utf8')) as { pid: number }).pid],
    stop,
  };
}

/**
 * API and worker, on a database of their own: a leader of the turns of one task queue would look at those of the other.
 * @param away milliseconds to Postgres, there and back
 * @param build the checkout whose build they run
 */
export async function startApart(
  name: 'apart' | 'away' | 'other',
  dataDir: string,
  mcp: TestMcpServer,
  { away = 0, build = THIS_BUILD } = {},
): Promise<StartedSide> {
  const url = new URL(embeddedDatabaseUrl(dataDir)!);
  const admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
  await admin.query(`CREATE DATABASE bench_${name}`);
  await admin.end();
  url.pathname = `/bench_${name}`;
  await runCommandOf(build, url.href, 'migrate');
  const limit = ['--max-running-turns', String(MAX_TURNS)];
  const key = await createKeyOf(build, url.href, '--project', 'bench', ...limit);
  if (away > 0) url.port = String(await delayWire({ host: url.hostname, port: Number(url.port) }, away));
  const env = {
    ...settingsOf(dataDir, mcp),
    DATABASE_URL: url.href,
    TEMPORAL_ADDRESS: temporalAddressOf(dataDir),
    TASK_QUEUE: name,
    DATA_DIR: join(dataDir, name),
    ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
  const roles = [await startRole('worker', env, build), await startRole('api', env, build)];
  return {
    name,
    ...turnFrames,
    ...(await clientOf(roles[1]!.url, key, mcp)),
    pids: roles.map(({ pid }) => pid),
    stop: async () => void (await Promise.all(roles.map((role) => role.stop()))),
  };
}

/** host:port of the Temporal server of `npm start`. */
export const temporalAddressOf = (dataDir: string): string => keptSettings(dataDir, {}).TEMPORAL_ADDRESS!;

const modelsFileOf = (dataDir: string): string => join(dataDir, 'bench-models.json');

/** More than a machine carries. */
const MAX_TURNS = 1000;

const settingsOf = (dataDir: string, { host }: TestMcpServer): Record<string, string> => ({
  MODELS_FILE: modelsFileOf(dataDir),
  MCP_ALLOWED_HOSTS: host,
  RATE_LIMIT_PER_MINUTE: '0',
  WORKER_MAX_ACTIVITIES: String(MAX_TURNS),
  LOG_LEVEL: 'error',
});

async function clientOf(
  url: string,
  key: string,
  mcp: TestMcpServer,
): Promise<Pick<Side, 'session' | 'send' | 'stream'>> {
  const api = apiClient(url, key, () => undefined);
  const server = await api('POST', '/v1/mcp-servers', { name: 'bench', url: mcp.url });
  return {
    async session(withTool = false) {
      const servers = withTool ? { mcp_servers: [server.body.id] } : {};
      const { body } = await api('POST', '/v1/sessions', { model_id: 'scripted', ...servers });
      return body.id as string;
    },
    async send(sessionId, content) {
      const { status, body } = await api('POST', `/v1/sessions/${sessionId}/messages`, { content });
      if (status !== 201) throw new Error(JSON.stringify(body));
    },
    stream: (sessionId) => openSse(`${url}/v1/sessions/${sessionId}/events/stream`, key),
  };
}

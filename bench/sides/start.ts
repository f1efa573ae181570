import { randomUUID } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../src/db/migrate.js';
import { openDataSource } from '../src/db/data-source.js';
import { freePort } from '../src/platform/free-port.js';
import { createKey } from '../src/projects/api-keys.js';
import { startRole } from '../test/support/role-process.js';
import { startScriptedModel, type ScriptedModel } from '../test/support/scripted-model.js';
import { startMcpServer, type TestMcpServer } from '../test/support/mcp-server.js';
import { apiClient } from '../test/support/client.js';
import type { Bench } from './bench.js';
import { cpuOf, cpuOfPostgres } from './measure.js';
import { embeddedDatabaseUrl } from '../temporal-dev/embedded-postgres.js';
import { openSse, readSse, type SseFrame, type SseReader } from '../test/support/sse-reader.js';
import { makeStateDir } from '../test/support/state-dir.js';

/**
 * One of the compared systems: the baseline (bench/baseline), the service in one process or two, LangGraph's library or its
 * server (bench/langgraph).
 */
export interface Side {
  name: 'baseline' | 'service' | 'apart' | 'langgraph' | 'langgraphServer';
  /** Opens a conversation, with the tool `ping` of an MCP server if asked for. */
  session(withTool?: boolean): Promise<string>;
  /**
   * A turn as a client of the side runs it: `send` and then `stream`, two requests. LangGraph's server streams the answer to the
   * POST that starts a run: there `send` ends with the headers of that answer, and `stream` takes it over.
   */
  send(sessionId: string, content: string): Promise<void>;
  stream(sessionId: string): Promise<SseReader>;
  isDelta(frame: SseFrame): boolean;
  /** The last frame of a turn. Without it, a turn ends with its stream. */
  isEnd?(frame: SseFrame): boolean;
  /** CPU seconds used so far by the side's own processes and by the servers that all sides share. */
  cpu(): Record<'service' | 'temporal' | 'postgres', number>;
  /** Resident memory of the side's processes, in KB. */
  memoryKb(): number;
}

export interface Sides {
  /** The scripted model in this process, which answers all sides. */
  model: ScriptedModel;
  baseline: Side;
  /** As `npm start` runs it: API and worker in one process. */
  service: Side;
  /** API and worker in a process of their own, as in production. */
  apart: Side;
  /** In memory, behind a server of the bench (bench/langgraph/main.mjs); null if it is not installed. */
  langgraph: Side | null;
  /** LangGraph's own server for development, in memory; null if it is not installed. */
  langgraphServer: Side | null;
}

/**
 * Starts the sides on the same Temporal and Postgres, which are those of `npm start`.
 * @param profiles a folder for CPU profiles of the service in one process, which slow it down; empty: none
 */
export async function startSides(bench: Bench, profiles = ''): Promise<Sides> {
  const dataDir = makeStateDir();
  const model = await startScriptedModel();
  bench.atEnd(() => model.close().catch(() => undefined));
  const mcp = await startMcpServer({ tools: [{ name: 'ping' }], json: true });
  bench.atEnd(() => mcp.close());
  const sum = (pids: number[], of: (pid: number) => number): number => pids.reduce((all, pid) => all + of(pid), 0);
  const side = async (started: Promise<Process>): Promise<Side> => {
    const { pids, stop, ...rest } = await started;
    bench.atEnd(stop);
    const [pidOfTemporal, pidOfPostgres] = [pidOf(dataDir, 'temporal'), pidOf(dataDir, 'postgres')];
    return {
      ...rest,
      cpu: () => ({
        service: sum(pids, cpuOf),
        temporal: cpuOf(pidOfTemporal),
        postgres: cpuOfPostgres(pidOfPostgres),
      }),
      memoryKb: () => sum(pids, memoryKbOf),
    };
  };
  const service = await side(startService(dataDir, model, mcp, profiles));
  const baseline = await side(startBaseline(dataDir, model, mcp));
  const apart = await side(startApart(dataDir, mcp));
  const installed = existsSync('bench/langgraph/node_modules/@langchain/langgraph-api');
  const langgraph = installed ? await side(startLangGraph(model)) : null;
  const langgraphServer = installed ? await side(startLangGraphServer(model)) : null;
  return { model, baseline, service, apart, langgraph, langgraphServer };
}

type Process = Omit<Side, 'cpu' | 'memoryKb'> & { pids: number[]; stop: () => Promise<void> };

/** The frames of all sides but LangGraph's server. */
const frames = {
  isDelta: ({ event }: SseFrame): boolean => event.startsWith('agent.'),
  isEnd: ({ event }: SseFrame): boolean => event === 'turn.completed',
};

async function startService(
  dataDir: string,
  model: ScriptedModel,
  mcp: TestMcpServer,
  profiles: string,
): Promise<Process> {
  const modelsFile = modelsFileOf(dataDir);
  const entry = {
    id: 'scripted',
    display_name: 'Scripted',
    model: 'scripted-1',
    base_url: model.url,
    context_window: 200_000,
    max_output_tokens: 8_000,
    supports_thinking: false,
  };
  writeFileSync(modelsFile, JSON.stringify([entry]));
  const port = await freePort();
  const profiling = profiles === '' ? [] : ['--cpu-prof', '--cpu-prof-dir', profiles];
  const child = spawn(process.execPath, [...profiling, 'temporal-dev/start.mjs'], {
    env: {
      ...process.env,
      DATA_DIR: dataDir,
      PORT: String(port),
      MODELS_FILE: modelsFile,
      MCP_ALLOWED_HOSTS: mcp.host,
      RATE_LIMIT_PER_MINUTE: '0',
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await says(child, /Ctrl-C stops everything/);
  const url = `http://127.0.0.1:${port}`;
  const key = readFileSync(join(dataDir, 'demo-key'), 'utf8').trim();
  return { name: 'service', ...frames, ...(await clientOf(url, key, mcp)), pids: [child.pid!], stop: () => end(child) };
}

const modelsFileOf = (dataDir: string): string => join(dataDir, 'bench-models.json');

/** On a database of its own: a leader of the turns of one task queue would look at those of the other. */
async function startApart(dataDir: string, mcp: TestMcpServer): Promise<Process> {
  const url = new URL(embeddedDatabaseUrl(dataDir)!);
  const admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
  await admin.query('CREATE DATABASE bench_apart');
  await admin.end();
  url.pathname = '/bench_apart';
  await migrate(url.href);
  const db = await openDataSource(url.href, 1, 'bench');
  const { key } = await createKey(db, { project: 'bench' });
  await db.destroy();
  const env = {
    DATABASE_URL: url.href,
    TEMPORAL_ADDRESS: temporalAddressOf(dataDir),
    TASK_QUEUE: 'apart',
    DATA_DIR: join(dataDir, 'apart'),
    ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    MODELS_FILE: modelsFileOf(dataDir),
    MCP_ALLOWED_HOSTS: mcp.host,
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'error',
  };
  const roles = [await startRole('worker', env), await startRole('api', env)];
  return {
    name: 'apart',
    ...frames,
    ...(await clientOf(roles[1]!.url, key, mcp)),
    pids: roles.map(({ pid }) => pid),
    stop: async () => void (await Promise.all(roles.map((role) => role.stop()))),
  };
}

/** What a client does with the service at an address. */
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

async function startBaseline(dataDir: string, model: ScriptedModel, mcp: TestMcpServer): Promise<Process> {
  const temporal = temporalAddressOf(dataDir);
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', 'bench/baseline/main.ts', temporal, embeddedDatabaseUrl(dataDir)!, model.url, mcp.url],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  return bareSide('baseline', child);
}

async function startLangGraph(model: ScriptedModel): Promise<Process> {
  return bareSide('langgraph', spawnLangGraph(model, ['bench/langgraph/main.mjs']));
}

async function startLangGraphServer(model: ScriptedModel): Promise<Process> {
  const child = spawnLangGraph(model, ['bench/langgraph/server.mjs', makeStateDir()]);
  const [, port] = await says(child, /listening on (\d+)/);
  const threads = `http://127.0.0.1:${port}/threads`;
  const post = (body: object) => ({
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answers = new Map<string, SseReader>();
  return {
    name: 'langgraphServer',
    pids: [child.pid!],
    stop: () => end(child),
    async session() {
      const response = await fetch(threads, post({}));
      return ((await response.json()) as { thread_id: string }).thread_id;
    },
    async send(threadId, content) {
      const input = { messages: [{ role: 'user', content }] };
      const run = post({ assistant_id: 'agent', input, stream_mode: ['messages'] });
      const answer = await readSse(`${threads}/${threadId}/runs/stream`, run);
      if (answer.status !== 200) throw new Error(`${threads} answered ${answer.status}`);
      answers.set(threadId, answer);
    },
    stream(threadId) {
      const answer = answers.get(threadId)!;
      answers.delete(threadId);
      return Promise.resolve(answer);
    },
    isDelta: ({ event, data }) => event === 'messages/partial' && (data as { content: string }[])[0]!.content !== '',
  };
}

function spawnLangGraph(model: ScriptedModel, args: string[]): ChildProcess {
  return spawn(process.execPath, args, {
    env: {
      ...process.env,
      MODEL_URL: model.url,
      LOG_LEVEL: 'error',
      LANGSMITH_TRACING_V2: 'false',
      LANGSMITH_TRACING: 'false',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** A process with POST and GET /sessions/{id}. */
async function bareSide(name: 'baseline' | 'langgraph', child: ChildProcess): Promise<Process> {
  const [, port] = await says(child, /listening on (\d+)/);
  const url = (sessionId: string): string => `http://127.0.0.1:${port}/sessions/${sessionId}`;
  return {
    name,
    ...frames,
    pids: [child.pid!],
    stop: () => end(child),
    session: () => Promise.resolve(randomUUID()),
    async send(sessionId, content) {
      const response = await fetch(url(sessionId), { method: 'POST', body: content });
      if (response.status !== 201) throw new Error(`${name} answered ${response.status}`);
      await response.text();
    },
    stream: (sessionId) => openSse(url(sessionId), ''),
  };
}

function pidOf(dataDir: string, server: 'temporal' | 'postgres'): number {
  return (JSON.parse(readFileSync(join(dataDir, `${server}.pid`), 'utf8')) as { pid: number }).pid;
}

function temporalAddressOf(dataDir: string): string {
  const { port } = JSON.parse(readFileSync(join(dataDir, 'temporal.json'), 'utf8')) as { port: number };
  return `127.0.0.1:${port}`;
}

function says(child: ChildProcess, what: RegExp): Promise<RegExpExecArray> {
  process.once('exit', () => child.kill('SIGTERM'));
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout!.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const said = what.exec(output);
      if (said !== null) resolve(said);
    });
    child.once('exit', (code) => reject(new Error(`a process ended with ${code}:\n${output}`)));
  });
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  await new Promise((resolve) => child.once('exit', resolve));
}

function memoryKbOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}

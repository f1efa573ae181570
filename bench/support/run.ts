import { randomUUID } from 'node:crypto';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/platform/free-port.js';
import { startScriptedModel, type ScriptedModel } from '../../test/support/scripted-model.js';
import { startMcpServer, type TestMcpServer } from '../../test/support/mcp-server.js';
import { apiClient } from '../../test/support/client.js';
import { embeddedDatabaseUrl } from '../../temporal-dev/embedded-postgres.js';
import { openSse, type SseReader } from '../../test/support/sse-reader.js';

/** One of the two compared systems: the service or the baseline (bench/baseline). */
export interface Side {
  name: 'baseline' | 'service';
  /** Opens a conversation, with the tool `ping` of an MCP server if asked for. */
  session(withTool?: boolean): Promise<string>;
  send(sessionId: string, content: string): Promise<void>;
  stream(sessionId: string): Promise<SseReader>;
  /** CPU seconds used so far by the side's own process and by the servers that both sides share. */
  cpu(): Record<'service' | 'temporal' | 'postgres', number>;
  /** Resident memory of the side's process, in KB. */
  memoryKb(): number;
}

export interface Bench {
  /** The scripted model in this process, which answers both sides. */
  model: ScriptedModel;
  baseline: Side;
  service: Side;
  close(): Promise<void>;
}

/** The service as `npm start` runs it and the baseline, each in a process of its own, on the same Temporal and Postgres. */
export async function startBench(): Promise<Bench> {
  const model = await startScriptedModel();
  const mcp = await startMcpServer({ tools: [{ name: 'ping' }], json: true });
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-service-'));
  chmodSync(dataDir, 0o711);
  const service = await startService(dataDir, model, mcp);
  const baseline = await startBaseline(dataDir, model, mcp);
  const pidOfTemporal = temporalOf(dataDir).pid;
  const pidOfPostgres = Number(
    readFileSync(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8').split('\n')[0],
  );
  const cpu = (pid: number) => () => ({
    service: cpuOf(pid),
    temporal: cpuOf(pidOfTemporal),
    postgres: cpuOfPostgres(pidOfPostgres),
  });
  const side = ({ child, ...rest }: Process): Side => ({
    ...rest,
    cpu: cpu(child.pid!),
    memoryKb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]),
  });
  return {
    model,
    baseline: side(baseline),
    service: side(service),
    async close() {
      for (const { child } of [baseline, service]) {
        child.kill('SIGTERM');
        await new Promise((resolve) => child.once('exit', resolve));
      }
      await Promise.all([model.close().catch(() => undefined), mcp.close()]);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

type Process = Pick<Side, 'name' | 'session' | 'send' | 'stream'> & { child: ChildProcess };

async function startService(dataDir: string, model: ScriptedModel, mcp: TestMcpServer): Promise<Process> {
  const modelsFile = join(dataDir, 'bench-models.json');
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
  const child = spawn(process.execPath, ['temporal-dev/start.mjs'], {
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
  const api = apiClient(url, key, () => undefined);
  const server = await api('POST', '/v1/mcp-servers', { name: 'bench', url: mcp.url });
  return {
    name: 'service',
    child,
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
  const temporal = `127.0.0.1:${temporalOf(dataDir).port}`;
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', 'bench/baseline/main.ts', temporal, embeddedDatabaseUrl(dataDir)!, model.url, mcp.url],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [, port] = await says(child, /listening on (\d+)/);
  const url = (sessionId: string): string => `http://127.0.0.1:${port}/sessions/${sessionId}`;
  return {
    name: 'baseline',
    child,
    session: () => Promise.resolve(randomUUID()),
    async send(sessionId, content) {
      const response = await fetch(url(sessionId), { method: 'POST', body: content });
      if (response.status !== 201) throw new Error(`the baseline answered ${response.status}`);
      await response.text();
    },
    stream: (sessionId) => openSse(url(sessionId), ''),
  };
}

function temporalOf(dataDir: string): { pid: number; port: number } {
  return JSON.parse(readFileSync(join(dataDir, 'temporal.json'), 'utf8')) as { pid: number; port: number };
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

const TICKS = Number(execFileSync('getconf', ['CLK_TCK']).toString());

/** CPU seconds that a process has used so far. */
export function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // utime, stime and those of children that have ended.
  return [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0) / TICKS;
}

/** CPU seconds of a Postgres: its main process and those of the connections. */
export function cpuOfPostgres(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return cpuOf(pid) + children.reduce((sum, child) => sum + cpuOfConnection(Number(child)), 0);
}

/** A connection may end while we read: then the main process adopts what it used. */
function cpuOfConnection(pid: number): number {
  try {
    return cpuOf(pid);
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return 0;
    throw error;
  }
}

/** The p-quantile of samples, 0 ≤ p ≤ 1. */
export function quantile(samples: number[], p: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN;
}

export const median = (samples: number[]): number => quantile(samples, 0.5);

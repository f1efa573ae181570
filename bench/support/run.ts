import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import getPort from 'get-port';
import { startScriptedModel, type ScriptedModel } from '../../test/support/scripted-model.js';
import { apiClient, type ApiCall } from '../../test/support/client.js';
import { openSse, type SseReader } from '../../test/support/sse-reader.js';

/** The service as `npm start` runs it, in a process of its own, with a scripted model in this one. */
export interface BenchService {
  model: ScriptedModel;
  api: ApiCall;
  url: string;
  /** CPU seconds used so far, by process. */
  cpu(): Record<'service' | 'temporal' | 'postgres', number>;
  /** Resident memory of the service process, in KB. */
  memoryKb(): number;
  session(): Promise<string>;
  send(sessionId: string, content: string): Promise<string>;
  stream(sessionId: string): Promise<SseReader>;
  /** One call of the model without the service, to its end. */
  direct(content: string): Promise<void>;
  close(): Promise<void>;
}

export async function startBenchService(modelEntry: Record<string, unknown> = {}): Promise<BenchService> {
  const model = await startScriptedModel();
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-service-'));
  chmodSync(dataDir, 0o711);
  const modelsFile = join(dataDir, 'bench-models.json');
  const entry = {
    id: 'scripted',
    display_name: 'Scripted',
    model: 'scripted-1',
    base_url: model.url,
    context_window: 200_000,
    max_output_tokens: 8_000,
    supports_thinking: false,
    ...modelEntry,
  };
  writeFileSync(modelsFile, JSON.stringify([entry]));
  const port = await getPort();
  const child = spawn(process.execPath, ['temporal-dev/start.mjs'], {
    env: {
      ...process.env,
      DATA_DIR: dataDir,
      PORT: String(port),
      MODELS_FILE: modelsFile,
      RATE_LIMIT_PER_MINUTE: '0',
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await says(child, 'Ctrl-C stops everything');
  const url = `http://127.0.0.1:${port}`;
  const key = readFileSync(join(dataDir, 'demo-key'), 'utf8').trim();
  const api = apiClient(url, key, () => undefined);
  const pidOfTemporal = (JSON.parse(readFileSync(join(dataDir, 'temporal.json'), 'utf8')) as { pid: number }).pid;
  const pidOfPostgres = Number(
    readFileSync(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8').split('\n')[0],
  );
  const direct = new Anthropic({ apiKey: 'none', baseURL: model.url, maxRetries: 0 });

  return {
    model,
    api,
    url,
    cpu: () => ({
      service: cpuOf(child.pid!),
      temporal: cpuOf(pidOfTemporal),
      postgres: cpuOf(pidOfPostgres) + childrenOf(pidOfPostgres).reduce((sum, pid) => sum + cpuOf(pid), 0),
    }),
    memoryKb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]),
    async session() {
      const { body } = await api('POST', '/v1/sessions', { model_id: 'scripted' });
      return body.id as string;
    },
    async send(sessionId, content) {
      const { status, body } = await api('POST', `/v1/sessions/${sessionId}/messages`, { content });
      if (status !== 201) throw new Error(JSON.stringify(body));
      return body.turn_id as string;
    },
    stream: (sessionId) => openSse(`${url}/v1/sessions/${sessionId}/events/stream`, key),
    async direct(content) {
      const stream = await direct.messages.create({
        model: 'scripted-1',
        max_tokens: 8000,
        stream: true,
        messages: [{ role: 'user', content }],
      });
      // Read to its end, as the service does.
      for await (const event of stream) if (event.type === 'message_stop') return;
    },
    async close() {
      child.kill('SIGTERM');
      await new Promise((resolve) => child.once('exit', resolve));
      await model.close().catch(() => undefined);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

function says(child: ChildProcess, what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout!.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes(what)) resolve();
    });
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}:\n${output}`)));
  });
}

const TICKS = Number(execFileSync('getconf', ['CLK_TCK']).toString());

function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // utime, stime and those of children that have ended.
  return [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0) / TICKS;
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}

/** The p-quantile of samples, 0 ≤ p ≤ 1. */
export function quantile(samples: number[], p: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN;
}

export const median = (samples: number[]): number => quantile(samples, 0.5);

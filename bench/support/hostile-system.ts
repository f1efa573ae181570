import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFaultSystem, type FaultSystem } from '../../test/support/fault-system.js';
import { MIB } from '../../src/platform/units.js';
import { memoryOf } from '../../test/support/memory.js';
import type { RoleProcess } from '../../test/support/role-process.js';
import { mochaGlobalSetup, mochaGlobalTeardown } from '../../test/support/services.js';
import { startSinkModel } from '../../test/support/sink-model.js';

export interface HostileOptions {
  apiHeapMib: number;
  workerHeapMib: number;
  /** The server of model `sink`; else one of its own. */
  modelUrl?: string;
  /** A further MCP server that may be registered. */
  mcpHost?: string;
  env?: Record<string, string>;
}

/** Runs `work` on an API and a worker with memory limits, and a model that answers every request. */
export async function withHostileSystem(
  { apiHeapMib, workerHeapMib, modelUrl, mcpHost, env: more }: HostileOptions,
  work: (system: FaultSystem) => Promise<void>,
): Promise<void> {
  await mochaGlobalSetup();
  const model = await startSinkModel();
  const file = join(mkdtempSync(join(tmpdir(), 'hostile-')), 'models.json');
  const sizes = { context_window: 200_000, max_output_tokens: 8_000, supports_thinking: false };
  const entries = { sink: modelUrl ?? model.url, scripted: model.url };
  writeFileSync(
    file,
    JSON.stringify(
      Object.entries(entries).map(([id, url]) => ({ id, display_name: id, model: id, base_url: url, ...sizes })),
    ),
  );
  const heap = (mib: number): Record<string, string> => ({ NODE_OPTIONS: `--max-old-space-size=${mib}` });
  const env = { MODELS_FILE: file, MEDIA_BUDGET_MB: '128', ...more };
  const system = await startFaultSystem({
    apis: 0,
    workers: 0,
    env,
    ...(mcpHost !== undefined && { allowedHosts: [mcpHost] }),
  });
  try {
    await system.addRole('api', heap(apiHeapMib));
    await system.addRole('worker', heap(workerHeapMib));
    await work(system);
  } finally {
    await system.close();
    await model.close();
    await mochaGlobalTeardown();
  }
}

export interface Answer {
  status: number;
  body: { id: string; turn_id: string; status: string };
}

/** Calls the API as one project. */
export type Caller = (method: string, path: string, body?: object) => Promise<Answer>;

export function callerOf({ url }: Pick<RoleProcess, 'url'>, key: string): Caller {
  return async (method, path, body) => {
    const isForm = body instanceof FormData;
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(!isForm && { 'content-type': 'application/json' }) },
      body: body === undefined ? null : isForm ? body : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Answer['body'] };
  };
}

/** Ids of four PNG files of 3.25 MiB: by their headers 100 × 100 pixels. */
export async function uploadImages(call: Caller): Promise<string[]> {
  const image = Buffer.alloc(3.25 * MIB, 7);
  Buffer.from('89504e470d0a1a0a0000000d494844520000006400000064', 'hex').copy(image);
  const ids: string[] = [];
  for (let number = 0; number < 4; number += 1) {
    const form = new FormData();
    form.set('file', new Blob([image]), `${number}.png`);
    ids.push((await call('POST', '/v1/files', form)).body.id);
  }
  return ids;
}

export async function newSession(call: Caller, more: object = {}): Promise<string> {
  return (await call('POST', '/v1/sessions', { model_id: 'sink', ...more })).body.id;
}

/** Sends a message, waits until its turn has ended, and returns the session's status. */
export async function runTurn(
  call: Caller,
  session: string,
  files: string[] = [],
  content = 'What is it?',
): Promise<string> {
  const sent = await call('POST', `/v1/sessions/${session}/messages`, { content, files });
  if (sent.status !== 201) return `not accepted: ${sent.status}`;
  for (;;) {
    const { status } = (await call('GET', `/v1/sessions/${session}`)).body;
    if (status !== 'RUNNING') return status;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Prints a process's memory: before `work`, its maximum during `work`, and ten seconds later. */
export async function withMemoryOf(name: string, { pid }: RoleProcess, work: () => Promise<void>): Promise<void> {
  const before = memoryOf(pid, 'VmRSS');
  const started = performance.now();
  await work();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  const [most, after] = [memoryOf(pid, 'VmHWM'), memoryOf(pid, 'VmRSS')];
  console.log(`${name}: ${seconds} s; resident ${before} MiB before, ${most} at most, ${after} ten seconds after`);
}

/**
 * What a turn costs beside the same call of the same model without the service, all in one run: `npm run bench`.
 * Everything is on this machine; quote the ratios, not the milliseconds.
 */
import { message, text, toolUse } from '../test/support/scripted-model.js';
import type { SseReader } from '../test/support/sse-reader.js';
import { median, quantile, startBenchService, type BenchService } from './support/run.js';

const row = (name: string, value: string, aim = ''): void =>
  console.log(`${name.padEnd(44)} ${value.padEnd(44)} ${aim}`);
const ms = (value: number): string => `${value.toFixed(1)} ms`;

const service = await startBenchService();
try {
  service.model.on(/one token/, text('ok'));
  service.model.on(/use a tool/, (request) => {
    const steps = request.body.messages.filter(({ role }) => role === 'assistant').length;
    return steps < 11 ? message([toolUse('list_files', {})]) : text('done');
  });
  service.model.on(/count (\d+)/, (request) => {
    const tokens = Number(/count (\d+)/.exec(request.userText)![1]);
    return text('token '.repeat(tokens).trim(), { every: 20 });
  });

  const direct = await turnOverhead(service);
  await toolStep(service, direct);
  for (const turns of [1, 32]) await deltaLag(service, turns);
  for (const inFlight of [1, 8, 32]) await throughput(service, inFlight);
  await watchers(service, 200);
  await waiting(service, 500);
} finally {
  await service.close();
}

/** Milliseconds from the model's sending of each delta to its arrival, by the one clock of this process. */
function lagsOf(bench: BenchService, sessionId: string, stream: SseReader): number[] {
  const request = bench.model.requests.find(({ userText }) => userText.includes(sessionId))!;
  const deltas = stream.frames.filter((frame) => frame.event === 'agent.message.delta');
  return deltas.map((delta, number) => delta.at - request.sentAt[number]!);
}

async function turnOnce(
  bench: BenchService,
  sessionId: string,
  content: string,
): Promise<{ total: number; firstDelta: number }> {
  const began = performance.now();
  await bench.send(sessionId, content);
  const stream = await bench.stream(sessionId);
  const first = await stream.until((frame) => frame.event.startsWith('agent.'));
  const last = await stream.until((frame) => frame.event === 'turn.completed');
  await stream.ended;
  return { total: last.at - began, firstDelta: first.at - began };
}

async function turnOverhead(bench: BenchService): Promise<number> {
  const directs: number[] = [];
  const turns: number[] = [];
  const firsts: number[] = [];
  for (let n = 0; n < 120; n += 1) {
    const began = performance.now();
    await bench.direct('one token');
    const sessionId = await bench.session();
    const direct = performance.now() - began;
    const { total, firstDelta } = await turnOnce(bench, sessionId, 'one token');
    if (n < 20) continue;
    directs.push(direct);
    turns.push(total);
    firsts.push(firstDelta);
  }
  const calls: number[] = [];
  for (let n = 0; n < 200; n += 1) {
    const began = performance.now();
    await bench.direct('one token');
    calls.push(performance.now() - began);
  }
  const base = median(calls);
  row('direct call of the model', ms(base));
  row(
    'turn, POST to terminal event (one token)',
    `${ms(median(turns))}, p95 ${ms(quantile(turns, 0.95))} = ${(median(turns) / base).toFixed(1)} ×`,
    '≤ 25 ×',
  );
  row('first delta', `${ms(median(firsts))} = ${(median(firsts) / base).toFixed(1)} ×`);
  return base;
}

async function toolStep(bench: BenchService, direct: number): Promise<void> {
  const steps: number[] = [];
  for (let n = 0; n < 12; n += 1) {
    const one = await turnOnce(bench, await bench.session(), 'one token');
    const many = await turnOnce(bench, await bench.session(), 'use a tool');
    if (n >= 2) steps.push((many.total - one.total) / 11);
  }
  row(
    'tool step (model call and built-in tool)',
    `${ms(median(steps))} = ${(median(steps) / direct).toFixed(1)} ×`,
    '≤ 10 ×',
  );
}

async function deltaLag(bench: BenchService, turns: number): Promise<void> {
  const lags: number[] = [];
  await Promise.all(
    Array.from({ length: turns }, async () => {
      const sessionId = await bench.session();
      await bench.send(sessionId, `count 250 for ${sessionId}`);
      const stream = await bench.stream(sessionId);
      await stream.until((frame) => frame.event === 'turn.completed');
      // The first ones come while sessions and streams are still being opened.
      lags.push(...lagsOf(bench, sessionId, stream).slice(50));
    }),
  );
  row(
    `delta lag, ${turns} turns × 50 tokens/s`,
    `p50 ${ms(median(lags))}, p95 ${ms(quantile(lags, 0.95))}`,
    turns === 1 ? '≤ 2 ms' : '≤ 10 ms',
  );
}

async function throughput(bench: BenchService, inFlight: number): Promise<void> {
  const before = bench.cpu();
  const began = performance.now();
  const until = began + 6000;
  let turns = 0;
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      const sessionId = await bench.session();
      while (performance.now() < until) {
        await turnOnce(bench, sessionId, 'one token');
        turns += 1;
      }
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  const after = bench.cpu();
  const cpu = (['service', 'temporal', 'postgres'] as const)
    .map((name) => `${name} ${(((after[name] - before[name]) / turns) * 1000).toFixed(1)}`)
    .join(', ');
  row(
    `turns/s, ${inFlight} in flight`,
    `${(turns / seconds).toFixed(1)}  (CPU ms a turn: ${cpu})`,
    inFlight === 32 ? '≥ 60' : '',
  );
}

async function watchers(bench: BenchService, count: number): Promise<void> {
  const sessionId = await bench.session();
  const streams = await Promise.all(Array.from({ length: count }, () => bench.stream(sessionId)));
  await bench.send(sessionId, `count 150 for ${sessionId}`);
  const lags: number[] = [];
  for (const stream of streams) {
    await stream.until((frame) => frame.event === 'turn.completed');
    lags.push(...lagsOf(bench, sessionId, stream));
  }
  row(
    `delta lag, one turn with ${count} watchers`,
    `p50 ${ms(median(lags))}, p95 ${ms(quantile(lags, 0.95))}`,
    '≤ 10 ms',
  );
}

async function waiting(bench: BenchService, count: number): Promise<void> {
  const sessionId = await bench.session();
  const before = bench.memoryKb();
  const streams = await Promise.all(Array.from({ length: count }, () => bench.stream(sessionId)));
  await new Promise((resolve) => setTimeout(resolve, 3000));
  row(`memory of a waiting watcher (${count})`, `${((bench.memoryKb() - before) / count).toFixed(0)} KB`, '≤ 80 KB');
  for (const stream of streams) stream.close();
}

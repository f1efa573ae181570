import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import type { FaultSystem } from '../../test/support/fault-system.js';
import { message, text, toolUse } from '../../test/support/scripted-model.js';
import { cpuOf, cpuOfPostgres, memoryOf, median, pause, quantile } from '../measure.js';
import { linesOver, type Line } from '../lines.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const SAMPLE_MS = 30_000;
/** Hot tables whose rows come and go, and some that only grow. */
const COME_AND_GO = ['open_turns', 'waits', 'idempotency_records', 'row_byte_changes', 'waiting_messages'];
const GROW = ['turns', 'events'];

/** A turn of each kind: one answer, streamed words, a tool call. */
const KINDS = ['one answer', 'a stream', 'one tool'];

type Sample = Record<string, number>;

/**
 * Turns begin at a steady rate, whatever becomes of those before. The picture has a line for each figure: what grows with the time,
 * and not with the number of turns stored, is a fault.
 */
export default scenario({
  measures:
    'an hour of load at half of what two cores carry: memory, event loop, connections, rows and bloat over time, as a picture (--to FILE.svg)',
  options: { minutes: 60, rate: 8, to: '' },
  async run(bench, { minutes, rate, to }) {
    const system = await bench.system({
      ...{ ownPostgres: true, ownTemporal: { persistent: true } },
      env: { RATE_LIMIT_PER_MINUTE: '100000', MAINTENANCE: 'on' },
    });
    const { model } = system;
    model.on(/one answer/, text('ok'));
    model.on(/a stream/, text('word '.repeat(40).trim(), { every: 50 }));
    model.on(/one tool/, ({ body }) =>
      body.messages.some(({ role }) => role === 'assistant') ? text('done') : message([toolUse('list_files', {})]),
    );
    const took: number[] = [];
    let begun = 0;
    const failed = new Map<string, number>();
    const fail = (reason: string): void => void failed.set(reason, (failed.get(reason) ?? 0) + 1);
    const turn = async (): Promise<void> => {
      const began = performance.now();
      begun += 1;
      try {
        const stream = await system.stream(await system.send(await system.session(), KINDS[begun % KINDS.length]!));
        await stream.ended;
        const last = stream.frames.at(-1)?.event ?? `its stream was refused, ${stream.status}`;
        if (last !== 'turn.completed') fail(last);
        took.push(performance.now() - began);
      } catch (error) {
        fail(/"type":"(?!error")(\w+)"/.exec(String(error))?.[1] ?? String(error).slice(0, 60));
      }
    };
    const beginning = setInterval(() => void turn(), 1_000 / rate);
    bench.atEnd(() => clearInterval(beginning));
    const samples: Sample[] = [];
    let before = cpu(system);
    for (const end = Date.now() + minutes * 60_000; Date.now() < end;) {
      await pause(SAMPLE_MS);
      const now = cpu(system);
      const figures = await sample(system);
      const [p50, p95] = [median(took), quantile(took, 0.95)];
      samples.push({
        ...figures,
        'turn p50, ms': p50,
        'turn p95, ms': p95,
        'cores used': (now.used - before.used) / (now.at - before.at),
        'load of the machine': loadavg()[0]!,
      });
      before = now;
      took.length = 0;
    }
    clearInterval(beginning);
    const lines = linesOf(samples);
    for (const { name, values } of lines) {
      const part = Math.max(1, Math.floor(values.length / 6));
      const [first, last] = [median(values.slice(part, 2 * part)), median(values.slice(-part))];
      row(name, `${first.toFixed(1)} → ${last.toFixed(1)}`, `most ${Math.max(...values).toFixed(1)}`);
    }
    row('turns begun', String(begun));
    for (const [reason, count] of failed) row(`not completed: ${reason}`, String(count));
    if (to !== '') writeFileSync(to, linesOver(lines, { minutes, title: `${rate} turns a second` }));
  },
});

function linesOf(samples: Sample[]): Line[] {
  return Object.keys(samples[0]!).map((name) => ({ name, values: samples.map((one) => one[name]!) }));
}

function cpu({ apis, workers, temporal, postgres }: FaultSystem): { at: number; used: number } {
  const used = cpuOf(apis[0]!.pid) + cpuOf(workers[0]!.pid) + cpuOf(temporal!.pid) + cpuOfPostgres(postgres!.pid);
  return { at: performance.now() / 1_000, used };
}

async function sample({ db, apis, workers, temporal }: FaultSystem): Promise<Sample> {
  const [connections] = await db.query<[{ all: number; busy: number }]>(
    `SELECT count(*)::integer AS all, count(*) FILTER (WHERE state <> 'idle')::integer AS busy
     FROM pg_stat_activity WHERE datname = current_database()`,
  );
  const tables = await db.query<{ name: string; live: number; dead: number; mib: number }[]>(
    `SELECT relname AS name, n_live_tup::float AS live, n_dead_tup::float AS dead, pg_total_relation_size(relid) / 1048576.0 AS mib
     FROM pg_stat_user_tables WHERE relname = ANY($1) ORDER BY relname`,
    [[...COME_AND_GO, ...GROW]],
  );
  const [deltas] = await db.query<[{ partitions: number; mib: number }]>(
    `SELECT count(*)::integer AS partitions, coalesce(sum(pg_total_relation_size(oid)), 0) / 1048576.0 AS mib
     FROM pg_class WHERE relname LIKE 'deltas\\_2%' AND relkind = 'r'`,
  );
  const ofTables = tables.flatMap(({ name, live, dead, mib }): [string, number][] => [
    [`${name}: rows`, Number(live)],
    [`${name}: dead rows`, Number(dead)],
    [`${name}: MiB`, Number(mib)],
  ]);
  return {
    'memory of the API, MiB': memoryOf(apis[0]!.pid, 'VmRSS'),
    'memory of the worker, MiB': memoryOf(workers[0]!.pid, 'VmRSS'),
    'memory of Temporal, MiB': memoryOf(temporal!.pid, 'VmRSS'),
    'event loop of the API, p99 ms': await loopDelay(apis[0]!.url),
    'event loop of the worker, p99 ms': await loopDelay(workers[0]!.url),
    connections: connections.all,
    'busy connections': connections.busy,
    ...{ 'deltas: partitions': deltas.partitions, 'deltas: MiB': Number(deltas.mib) },
    ...Object.fromEntries(ofTables),
  };
}

/** Since the last time that somebody asked. */
async function loopDelay(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^nodejs_eventloop_lag_p99_seconds(?:\{.*\})? (\S+)/m.exec(metrics)?.[1]) * 1_000;
}

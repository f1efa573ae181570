import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type pg from 'pg';
import { clientConfig } from '../db/client-config.js';
import { ConnectingClient } from '../db/connecting-client.js';
import { ignored } from '../platform/ignored.js';

export interface LeaseThreadData {
  databaseUrl: string;
  workerId: string;
  namespace: string;
  taskQueue: string;
  /** One 32-bit counter that the main thread increments at least twice a second. */
  pulse: SharedArrayBuffer;
}

export type LeaseOrder = 'drain' | 'release';

export type LeaseReport = { kind: 'taken' } | { kind: 'lost' } | { kind: 'late'; error: Error };

/** A worker that has not renewed its lease for this long counts as crashed: its activities are reassigned. */
const LEASE_MS = 4_000;
const RENEW_INTERVAL_MS = 1_000;
const RETRY_INTERVAL_MS = 250;
/** A connection that does not answer for this long is replaced, in time for another attempt within the lease. */
const ANSWER_TIMEOUT_MS = 2_000;
/** If the main thread is blocked for this long, the lease is no longer renewed and runs out. */
const MAX_MAIN_STALL_MS = 30_000;

const TAKE = `
  INSERT INTO workers (id, namespace, task_queue, until)
  VALUES ($1, $4, $5, clock_timestamp() + $2::integer * interval '1 ms')
  ON CONFLICT (id) DO UPDATE SET until = excluded.until, is_draining = $3 WHERE workers.dead_at IS NULL`;
const RENEW = `
  UPDATE workers SET until = clock_timestamp() + $2::integer * interval '1 ms', is_draining = $3
  WHERE id = $1 AND dead_at IS NULL`;

const { databaseUrl, workerId, namespace, taskQueue, pulse } = workerData as LeaseThreadData;
const beats = new Int32Array(pulse);
const port = parentPort!;
const released = new AbortController();
let isDraining = false;
let client: pg.Client | null = null;

port.on('message', (order: LeaseOrder) => {
  if (order === 'drain') isDraining = true;
  else released.abort();
});

await keepLease();
if (released.signal.aborted)
  await ask('DELETE FROM workers WHERE id = $1', [workerId]).catch(ignored('the lease runs out by itself'));
disconnect();
port.close();

/** Returns when the lease is released or lost. */
async function keepLease(): Promise<void> {
  let isTaken = false;
  let isLate = false;
  const isMainAlive = watchPulse();
  while (!released.signal.aborted) {
    let pauseMs = RENEW_INTERVAL_MS;
    try {
      if (isMainAlive()) {
        const parameters = [workerId, LEASE_MS, isDraining];
        const renewed = await (isTaken ? ask(RENEW, parameters) : ask(TAKE, [...parameters, namespace, taskQueue]));
        if (renewed === 0) return report({ kind: 'lost' });
        if (!isTaken) report({ kind: 'taken' });
        isTaken = true;
        isLate = false;
      }
    } catch (error) {
      disconnect();
      if (!isLate) report({ kind: 'late', error: error as Error });
      isLate = true;
      pauseMs = RETRY_INTERVAL_MS;
    }
    await sleep(pauseMs, undefined, { signal: released.signal }).catch(ignored('the pause was cut short'));
  }
}

function watchPulse(): () => boolean {
  let beat = Atomics.load(beats, 0);
  let beatAt = performance.now();
  return () => {
    const now = performance.now();
    const latest = Atomics.load(beats, 0);
    if (latest !== beat) [beat, beatAt] = [latest, now];
    return now - beatAt < MAX_MAIN_STALL_MS;
  };
}

async function ask(statement: string, parameters: unknown[]): Promise<number> {
  client ??= await connect();
  const { rowCount } = await client.query(statement, parameters);
  return rowCount ?? 0;
}

async function connect(): Promise<pg.Client> {
  const opened = new ConnectingClient({
    ...clientConfig(databaseUrl),
    application_name: 'worker lease',
    keepAlive: true,
    connectionTimeoutMillis: ANSWER_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    statement_timeout: ANSWER_TIMEOUT_MS,
  });
  opened.on('error', () => undefined);
  await opened.connect();
  return opened;
}

function disconnect(): void {
  void client?.end().catch(ignored('the connection may be gone'));
  client = null;
}

function report(message: LeaseReport): void {
  port.postMessage(message);
}

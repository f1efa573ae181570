import type { DataSource } from 'typeorm';
import { runSql, sql } from '../db/sql.js';
import { Lease } from './lease.js';

/** A worker that has not renewed its lease for that long is dead: its activities are given to others. */
const WORKER_LEASE_MS = 4_000;
const RENEW_INTERVAL_MS = 1_500;

const nameOf = (namespace: string, workerId: string): string => `worker:${namespace}:${workerId}`;

/** The lease by which other processes know that this worker lives. */
export function holdWorkerLease(db: DataSource, namespace: string, workerId: string): Lease {
  return new Lease(db, {
    name: nameOf(namespace, workerId),
    holder: workerId,
    durationMs: WORKER_LEASE_MS,
    intervalMs: RENEW_INTERVAL_MS,
  });
}

/** The workers of the namespace whose lease has run out and whose activities no process has handed over yet. */
export async function deadWorkers(db: DataSource, namespace: string): Promise<string[]> {
  const rows = await runSql<{ holder: string }>(
    db,
    sql`SELECT holder FROM leases WHERE starts_with(name, ${nameOf(namespace, '')}) AND until < clock_timestamp()`,
  );
  return rows.map(({ holder }) => holder);
}

/** Forgets a worker after its activities were handed over; false if it lives after all. */
export async function forgetWorker(db: DataSource, namespace: string, workerId: string): Promise<boolean> {
  const rows = await runSql(
    db,
    sql`WITH forgotten AS (
          DELETE FROM leases WHERE name = ${nameOf(namespace, workerId)} AND until < clock_timestamp() RETURNING name)
        SELECT name FROM forgotten`,
  );
  return rows.length > 0;
}

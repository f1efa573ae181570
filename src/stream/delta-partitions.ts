import type { DataSource } from 'typeorm';
import { transaction } from '../db/transaction.js';
import type { Logger } from '../platform/logger.js';

const SLOT_SECONDS = 600;
/** Partitions to create ahead of the current one: a worker may be away for half an hour. */
const SLOTS_AHEAD = 3;
const INTERVAL_MS = 60_000;
/** A reader that holds its lock for long (pg_dump) delays the clean-up, but not the streams. */
const LOCK_TIMEOUT = '500ms';
/** How long streams that were open at a turn's end may still read its deltas (contract.md §3). */
const KEPT_SECONDS = 60;

/** Creates the partitions of `deltas` for now and the near future. Returns how many it created. */
export async function createPartitions(db: DataSource): Promise<number> {
  return transaction(db, async (tx) => {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtext('delta partitions'))`);
    const { slot: current, names } = await readPartitions(tx);
    let created = 0;
    for (let slot = current; slot <= current + SLOTS_AHEAD; slot += 1) {
      const name = partitionName(slot);
      if (names.includes(name)) continue;
      // ATTACH takes a weaker lock than CREATE TABLE … PARTITION OF, so streams can read and write meanwhile.
      await tx.query(
        `CREATE TABLE ${name} (LIKE deltas INCLUDING DEFAULTS) WITH (autovacuum_vacuum_insert_threshold = -1)`,
      );
      await tx.query(
        `ALTER TABLE deltas ATTACH PARTITION ${name} FOR VALUES FROM ('${startOf(slot)}') TO ('${startOf(slot + 1)}')`,
      );
      created += 1;
    }
    return created;
  });
}

/**
 * Drops the partitions that ended at least one slot ago. Deltas of turns that are open, or ended less than a minute
 * ago, move to the current partition first. Returns the number of dropped partitions.
 */
export async function dropOldPartitions(db: DataSource): Promise<number> {
  const { slot: current, names } = await readPartitions(db);
  const oldest = partitionName(current - 1);
  const old = names.filter((name) => name < oldest);
  if (old.length === 0) return 0;
  await db.query(
    `UPDATE deltas SET stored_at = statement_timestamp() FROM turns
     WHERE stored_at < '${startOf(current - 1)}' AND turns.id = turn_id
       AND (ended_at IS NULL OR ended_at > statement_timestamp() - interval '${KEPT_SECONDS} s')`,
  );
  await transaction(db, async (tx) => {
    await tx.query(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
    for (const name of old) await tx.query(`DROP TABLE IF EXISTS ${name}`);
  });
  return old.length;
}

/** Creates and drops partitions periodically. Returns a function that stops it after the current round. */
export function keepPartitions(db: DataSource, log: Logger): () => Promise<void> {
  let timer: NodeJS.Timeout;
  let isStopped = false;
  let round: Promise<void>;
  const run = (): void => {
    round = createPartitions(db)
      .then(() => dropOldPartitions(db))
      .catch((err: unknown) => log.warn({ err }, 'partitions of deltas could not be kept, the next round follows'))
      .then(() => {
        // Jitter: processes must not run at the same moment.
        if (!isStopped) timer = setTimeout(run, INTERVAL_MS * (0.75 + Math.random() / 2));
      });
  };
  run();
  return async () => {
    isStopped = true;
    clearTimeout(timer);
    await round;
  };
}

/** The current slot by Postgres' clock, and the existing partitions. */
async function readPartitions(db: Pick<DataSource, 'query'>): Promise<{ slot: number; names: string[] }> {
  const [row]: { slot: number; names: string[] }[] = await db.query(
    `SELECT floor(extract(epoch FROM statement_timestamp()) / ${SLOT_SECONDS})::integer AS slot,
       array(SELECT relname::text FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
             WHERE inhparent = 'deltas'::regclass) AS names`,
  );
  return row!;
}

/** Names sort by time: deltas_202611212240. */
function partitionName(slot: number): string {
  return `deltas_${startOf(slot).replaceAll(/\D/g, '').slice(0, 12)}`;
}

function startOf(slot: number): string {
  return new Date(slot * SLOT_SECONDS * 1000).toISOString();
}

import type { Database, Db } from '../db/db.js';
import { sqlState, transaction } from '../db/transaction.js';
import type { Round } from '../platform/rounds.js';

const PARTITION_SECONDS = 600;
/** Partitions to create ahead of the current one: the reconciler may be away for half an hour. */
const SLOTS_AHEAD = 3;
/** How long streams that were open at a turn's end may still read its deltas (decisions.md "Turns and events"). */
const KEPT_SECONDS = 60;
/** Open turns whose deltas move in one statement: a turn stores up to 2,400 rows in a slot. */
const TURNS_PER_MOVE = 50;
/** SQLSTATE check_violation: no partition accepts the row. */
const NO_PARTITION = '23514';

interface Partition {
  name: string;
  is_attached: boolean;
  /** A detach was interrupted while it waited for older transactions. */
  is_detaching: boolean;
  /** It has no deltas of open turns any more. */
  is_emptied: boolean;
  /** It was emptied long enough ago for the streams of turns that had ended before. */
  is_unread: boolean;
}

/** Creates the partitions of `deltas` for now and the near future. Returns how many it created. */
export async function createPartitions(db: Database): Promise<number> {
  if (missing(await readPartitions(db)).length === 0) return 0;
  return transaction(db, async (tx) => {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtext('delta partitions'))`);
    const slots = missing(await readPartitions(tx));
    for (const slot of slots) {
      const name = partitionName(slot);
      // ATTACH takes a weaker lock than CREATE TABLE … PARTITION OF, so streams can read and write meanwhile. Rows are
      // never updated and live for half an hour: vacuum would only read them once more.
      await tx.query(
        `CREATE TABLE ${name} (LIKE deltas INCLUDING DEFAULTS) WITH (autovacuum_vacuum_insert_threshold = -1)`,
      );
      await tx.query(
        `ALTER TABLE deltas ATTACH PARTITION ${name} FOR VALUES FROM ('${startOf(slot)}') TO ('${startOf(slot + 1)}')`,
      );
    }
    return slots.length;
  });
}

/** Runs a statement or a transaction that stores deltas. If there is no partition for them, creates it and runs `store` again. */
export async function withPartitions<T>(db: Database, store: () => Promise<T>): Promise<T> {
  try {
    return await store();
  } catch (error) {
    if (sqlState(error) !== NO_PARTITION) throw error;
    await createPartitions(db);
    return store();
  }
}

/**
 * Removes the partitions that ended at least one slot ago: deltas of open turns move to the current partition, and a
 * minute later the rest is dropped. Turns that end meanwhile are either moved or keep their deltas for that minute.
 * Returns the number of dropped partitions. Only the reconciler calls it.
 */
export async function dropOldPartitions(db: Database): Promise<number> {
  const { slot, partitions } = await readPartitions(db);
  const old = partitions.filter(({ name }) => name < partitionName(slot - 1));
  const full = old.filter(({ is_attached, is_emptied }) => is_attached && !is_emptied);
  if (full.length > 0) await moveDeltasOfOpenTurns(db, startOf(slot - 1));
  for (const { name } of full) await db.query(`COMMENT ON TABLE ${name} IS '${new Date().toISOString()}'`);
  let dropped = 0;
  for (const partition of old.filter(({ is_attached, is_unread }) => !is_attached || is_unread)) {
    await detach(db, partition);
    await db.query(`DROP TABLE IF EXISTS ${partition.name}`);
    dropped += 1;
  }
  return dropped;
}

export const deltaPartitions: Round<{ db: Database }> = {
  name: 'partitions of deltas',
  everyMs: 15_000,
  async run({ db }) {
    await createPartitions(db);
    await dropOldPartitions(db);
  },
};

/** From the open turns, which are few, to their rows by index: the old partitions may have millions of rows. */
async function moveDeltasOfOpenTurns(db: Database, before: string): Promise<void> {
  const open = await db.query<{ turn_id: string }[]>('SELECT turn_id FROM open_turns');
  for (let start = 0; start < open.length; start += TURNS_PER_MOVE) {
    const ids = open.slice(start, start + TURNS_PER_MOVE).map(({ turn_id }) => turn_id);
    await transaction(db, async (tx) => {
      // The statistics of a partition are minutes old: a plan must not depend on them.
      await tx.query('SET LOCAL enable_seqscan = off');
      await tx.query(
        'UPDATE deltas SET stored_at = statement_timestamp() WHERE stored_at < $1 AND turn_id = ANY($2::text[])',
        [before, ids],
      );
    });
  }
}

/**
 * Without an exclusive lock on `deltas`, which all streams would wait behind: this waits for the transactions that may
 * still read the partition, for example a pg_dump, and others do not wait for this.
 */
async function detach(db: Database, { name, is_attached, is_detaching }: Partition): Promise<void> {
  if (!is_attached) return;
  await db.query(`ALTER TABLE deltas DETACH PARTITION ${name} ${is_detaching ? 'FINALIZE' : 'CONCURRENTLY'}`);
}

interface Partitions {
  /** The current slot by Postgres' clock. */
  slot: number;
  partitions: Partition[];
}

/** The comment on a partition is the time at which it was emptied. */
async function readPartitions(db: Db): Promise<Partitions> {
  const [row] = await db.query<Partitions[]>(
    `SELECT floor(extract(epoch FROM statement_timestamp()) / ${PARTITION_SECONDS})::integer AS slot, coalesce((
       SELECT json_agg(json_build_object('name', relname, 'is_attached', inhrelid IS NOT NULL,
         'is_detaching', coalesce(inhdetachpending, false), 'is_emptied', emptied_at IS NOT NULL,
         'is_unread', coalesce(emptied_at::timestamptz < statement_timestamp() - interval '${KEPT_SECONDS} s', false)))
       FROM pg_class LEFT JOIN pg_inherits ON inhrelid = pg_class.oid AND inhparent = 'deltas'::regclass,
         LATERAL obj_description(pg_class.oid, 'pg_class') AS emptied_at
       WHERE relname ~ '^deltas_\\d{12}$' AND relkind = 'r'
         AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'deltas'::regclass)), '[]') AS partitions`,
  );
  return row!;
}

function missing({ slot, partitions }: Partitions): number[] {
  const existing = new Set(partitions.map(({ name }) => name));
  return Array.from({ length: SLOTS_AHEAD + 1 }, (_, ahead) => slot + ahead).filter(
    (one) => !existing.has(partitionName(one)),
  );
}

/** Names sort by time: deltas_202611212240. */
function partitionName(slot: number): string {
  return `deltas_${startOf(slot).replaceAll(/\D/g, '').slice(0, 12)}`;
}

function startOf(slot: number): string {
  return new Date(slot * PARTITION_SECONDS * 1000).toISOString();
}

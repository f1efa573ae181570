import type { Database, Tx } from '../db/db.js';
import { rawSql, runSql, sql, type Sql } from '../db/sql.js';
import { transaction } from '../db/transaction.js';

/**
 * Sums of `turn_usage` by day of UTC, which GET usage reads for whole days. The end of a turn writes its rows of `turn_usage`
 * alone; rounds of maintenance add them up later, each row once: `is_summed` says which, and the same transaction sets it. So
 * no turn waits for the row of a sum, and whatever fails here fails no turn.
 *
 * `kind` is a grouping of GET usage and `name` a group of it: `day`, `model`, `session`, `agent`,
 * `agent_version`, `metadata.KEY`. Turns without an agent have no sum of the kinds of agents: they are the others of the day. The kind `metadata` has
 * the turns with a key, whose name is the key: those without it are the others of the day. The empty key has the users of sessions.
 */
export const SUM_COLUMNS = [
  ...['turns', 'model_calls', 'input_tokens', 'output_tokens', 'cache_read_input_tokens'],
  ...['cache_creation_input_tokens', 'cost', 'unpriced'],
] as const;

/** Of each kind of sum, except those of metadata, the name of a row and whether it counts the turn. */
const PARTS = rawSql(`
  SELECT 'day' AS kind, to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS name, is_first AS is_counted
  UNION ALL SELECT 'model', model_id, true
  UNION ALL SELECT 'session', session_id, is_first
  UNION ALL SELECT 'agent', agent_id, is_first WHERE agent_id IS NOT NULL
  UNION ALL SELECT 'agent_version', agent_id || '@' || agent_version, is_first WHERE agent_id IS NOT NULL`);

/** Of metadata `pairs`, each with a key and a value. */
const PARTS_OF_PAIRS = rawSql(`
  SELECT 'metadata.' || key AS kind, value AS name, is_first AS is_counted FROM pairs
  UNION ALL SELECT 'metadata', key, is_first FROM pairs`);

/** The sums of `parts`: rows of `turn_usage`, once for each sum that counts them. */
const SUMS_OF_PARTS = rawSql(`
  SELECT project_id, kind, name, (ended_at AT TIME ZONE 'UTC')::date AS day, coalesce(currency, '') AS currency,
    count(*) FILTER (WHERE is_counted) AS turns, ${SUM_COLUMNS.slice(1, -1)
      .map((column) => `sum(${column}) AS ${column}`)
      .join(', ')}, count(*) FILTER (WHERE is_unpriced) AS unpriced
  FROM parts GROUP BY 1, 2, 3, 4, 5`);

const SAME_SUM =
  rawSql(`s.project_id = less.project_id AND s.kind = less.kind AND s.name = less.name AND s.day = less.day
  AND s.currency = less.currency`);
const IS_ALL = rawSql('(s.turns = less.turns AND s.model_calls = less.model_calls)');

const ADD = rawSql(SUM_COLUMNS.map((column) => `${column} = usage_sums.${column} + excluded.${column}`).join(', '));
const SUBTRACT = rawSql(SUM_COLUMNS.map((column) => `${column} = s.${column} - less.${column}`).join(', '));

const READ_BATCH = 10_000;
/** As in the index turn_usage_metadata. */
const HAS_METADATA = rawSql(`metadata::text <> '{}'`);

/** Adds at most `limit` rows to the sums. Returns how many it added. */
export function sumUp(db: Database, limit: number): Promise<number> {
  return asOnlyWriter(db, async (tx) => {
    const [row] = await runSql<{ count: number }>(
      tx,
      sql`WITH due AS MATERIALIZED (
            SELECT turn_id, model_id FROM turn_usage WHERE NOT is_summed
            ORDER BY project_id, ended_at LIMIT ${limit}),
          added AS (
            UPDATE turn_usage u SET is_summed = true
            FROM due WHERE u.turn_id = due.turn_id AND u.model_id = due.model_id RETURNING u.*),
          parts AS (
            SELECT * FROM added CROSS JOIN LATERAL (
              ${PARTS} UNION ALL (WITH pairs AS (SELECT * FROM json_each_text(metadata)) ${PARTS_OF_PAIRS})) AS part),
          sums AS (${SUMS_OF_PARTS}),
          stored AS (
            INSERT INTO usage_sums (project_id, kind, name, day, currency, ${rawSql(SUM_COLUMNS.join(', '))})
            SELECT project_id, kind, name, day, currency, ${rawSql(SUM_COLUMNS.join(', '))} FROM sums
            ON CONFLICT ON CONSTRAINT usage_sums_pkey
            DO UPDATE SET ${ADD})
          SELECT count(*)::integer AS count FROM added`,
    );
    return row!.count;
  });
}

/**
 * Forgets metadata of rows of `turn_usage`: their sums then count in the group null. Returns how many rows, and of how many turns, it changed.
 * @param due the rows `u`: their `turn_id` and `model_id`, and in `kept` the metadata that stay
 */
function forgetMetadata(db: Database, due: Sql): Promise<{ count: number; turns: number }> {
  return asOnlyWriter(db, async (tx) => {
    const [row] = await runSql<{ count: number; turns: number }>(
      tx,
      sql`WITH due AS MATERIALIZED (${due}),
          forgotten AS (
            UPDATE turn_usage u SET metadata = kept FROM due
            WHERE u.turn_id = due.turn_id AND u.model_id = due.model_id),
          parts AS (
            SELECT * FROM (SELECT u.*, kept FROM due JOIN turn_usage u USING (turn_id, model_id) WHERE is_summed) AS changed
              CROSS JOIN LATERAL (
                WITH pairs AS (
                  SELECT * FROM json_each_text(metadata) EXCEPT SELECT * FROM json_each_text(kept)) ${PARTS_OF_PAIRS}) AS part),
          less AS (${SUMS_OF_PARTS}),
          gone AS (DELETE FROM usage_sums s USING less WHERE ${SAME_SUM} AND ${IS_ALL}),
          lessened AS (
            UPDATE usage_sums s SET ${SUBTRACT}
            FROM less WHERE ${SAME_SUM} AND NOT ${IS_ALL})
          SELECT count(*)::integer AS count, count(DISTINCT turn_id)::integer AS turns FROM due`,
    );
    return row!;
  });
}

/** Of at most `limit` turns that ended `days` ago or earlier. */
export async function forgetOldMetadata(db: Database, days: number, limit: number): Promise<number> {
  const { count } = await forgetMetadata(
    db,
    sql`SELECT turn_id, model_id, '{}'::json AS kept FROM turn_usage
        WHERE ${HAS_METADATA} AND ended_at <= statement_timestamp() - ${days} * interval '1 day'
        ORDER BY ended_at LIMIT ${limit}`,
  );
  return count;
}

/** What an operator names: a value of a key, or a session. */
export type ForgottenMetadata = { key: string; value: string } | { session: string };

/**
 * Forgets a pair in all turns of a project that ended, or all metadata of the turns of a session. Returns the number of turns.
 * It reads the rows of the project in bounded steps.
 */
export async function forgetMatching(db: Database, projectId: string, what: ForgottenMetadata): Promise<number> {
  const which =
    'session' in what ? sql`session_id = ${what.session}` : sql`metadata->>${what.key}::text = ${what.value}`;
  const kept = 'session' in what ? sql`'{}'::json` : sql`(metadata::jsonb - ${what.key}::text)::json`;
  let count = 0;
  for (let after: string | null = '-infinity'; after !== null;) {
    const step: ForgetStep = await forgetStep(db, projectId, { which, kept }, after);
    count += step.turns;
    after = step.until;
  }
  return count;
}

interface ForgetStep {
  /** When the last rows ended that it has looked at; null if there are no more. */
  until: string | null;
  turns: number;
}

/**
 * Forgets metadata in some turns. It reads a bounded number of the project's rows.
 * @param which SQL that is true for their rows of `turn_usage`
 * @param kept SQL for the metadata that a row keeps; all are forgotten without it
 * @param after `until` of the step before
 */
export async function forgetStep(
  db: Database,
  projectId: string,
  { which, kept = sql`'{}'::json` }: { which: Sql; kept?: Sql },
  after: string,
): Promise<ForgetStep> {
  const [step] = await runSql<{ until: string | null }>(
    db,
    sql`SELECT max(ended_at)::text AS until FROM (
          SELECT ended_at FROM turn_usage WHERE project_id = ${projectId} AND ended_at > ${after}::timestamptz
          ORDER BY ended_at LIMIT ${READ_BATCH}) AS step`,
  );
  const { until } = step!;
  if (until === null) return { until, turns: 0 };
  const { turns } = await forgetMetadata(
    db,
    sql`SELECT turn_id, model_id, ${kept} AS kept FROM turn_usage
        WHERE project_id = ${projectId} AND ended_at > ${after}::timestamptz AND ended_at <= ${until}::timestamptz
          AND ${HAS_METADATA} AND ${which}`,
  );
  return { until, turns };
}

/** Sums and the metadata of summed rows change in one transaction at a time. */
function asOnlyWriter<T>(db: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  return transaction(db, async (tx) => {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('sums of usage', 0))`);
    return work(tx);
  });
}

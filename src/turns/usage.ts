import type { Db } from '../db/db.js';
import { moneyJson } from '../db/money.js';
import { rawSql, runSql, sql, type Sql } from '../db/sql.js';
import type { Money } from '../events/fields.js';
import type { PageRows } from '../platform/page.js';
import { SUM_COLUMNS } from './usage-sums.js';

export interface UsageGroup {
  /** Null for turns of sessions without the metadata key or a user, or without an agent. */
  group: string | null;
  turns: number;
  model_calls: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
  /** Null if a call had no price. */
  cost: Money | null;
}

export type UsageGrouping = 'day' | 'model' | 'session' | 'agent' | 'agent_version' | { metadata: string };

/** Under this key the metadata of a turn have the user of its session: clients give keys of at least one character. */
export const BY_USER: UsageGrouping = { metadata: '' };

/** The turns that ended from `from` on and before `to`, in the service's format of times. */
export interface UsageWindow {
  from: string;
  to: string;
}

const SUM_COLUMN_LIST = rawSql(SUM_COLUMNS.join(', '));
const ALL_SUMS = rawSql(SUM_COLUMNS.map((column) => `sum(${column}) AS ${column}`).join(', '));
const ROW_SUMS = rawSql(
  SUM_COLUMNS.slice(1, -1)
    .map((column) => `sum(${column}) AS ${column}`)
    .join(', '),
);
const NEGATIVE = rawSql(SUM_COLUMNS.map((column) => `-${column}`).join(', '));
const COST = rawSql(
  moneyJson('sum(cost)', {
    isUnpriced: `sum(unpriced) > 0 OR count(DISTINCT nullif(currency, '')) > 1`,
    currency: `min(nullif(currency, ''))`,
  }),
);

/**
 * A page of what the turns of a project took, by group in the order of code points, null last. Whole days come from the kept
 * sums and the rows that are not in them yet, the ends of the window from its rows.
 */
export async function sumUsage(
  db: Db,
  projectId: string,
  window: UsageWindow,
  grouping: UsageGrouping,
  { after, limit }: { after: string | null; limit: number },
): Promise<PageRows<UsageGroup>> {
  const { from, to } = window;
  const days = wholeDays(window);
  const { kind, name, others } = partsOf(grouping);
  const isLater = after === null ? sql`true` : sql`name > ${after}`;
  const inDays = sql`project_id = ${projectId} AND day >= ${days.from.slice(0, 10)}::date AND day < ${days.to.slice(0, 10)}::date`;
  const rowsIn = (from: string, to: string, where = sql`true`): Sql => sql`
    SELECT ${name} COLLATE "C" AS name, turn_usage.* FROM turn_usage
    WHERE project_id = ${projectId} AND ended_at >= ${from}::timestamptz AND ended_at < ${to}::timestamptz AND ${where}`;
  const rows = await runSql<{ item: UsageGroup }>(
    db,
    sql`WITH from_rows AS MATERIALIZED (
          SELECT name, coalesce(currency, '') AS currency, count(*) FILTER (WHERE ${kind} = 'model' OR is_first) AS turns, ${ROW_SUMS},
            count(*) FILTER (WHERE is_unpriced) AS unpriced
          FROM (${rowsIn(from, days.from)} UNION ALL ${rowsIn(days.from, days.to, sql`NOT is_summed`)}
            UNION ALL ${rowsIn(days.to, to)}) AS r
          WHERE ${isLater} OR name IS NULL GROUP BY 1, 2),
        names AS MATERIALIZED (
          SELECT name FROM (
            (SELECT DISTINCT name FROM usage_sums WHERE ${inDays} AND kind = ${kind} AND ${isLater} ORDER BY name LIMIT ${limit + 1})
            UNION SELECT name FROM from_rows WHERE name IS NOT NULL) AS n ORDER BY name LIMIT ${limit + 1}),
        parts AS (
          SELECT name, currency, ${SUM_COLUMN_LIST} FROM from_rows WHERE name IS NULL OR name IN (SELECT name FROM names)
          UNION ALL
          SELECT s.name, currency, ${SUM_COLUMN_LIST} FROM names JOIN usage_sums s ON ${inDays} AND kind = ${kind} AND s.name = names.name
          ${others === null ? sql`` : sql`UNION ALL ${sumsWithout(others, inDays)}`})
        SELECT json_build_object('group', name, 'turns', sum(turns), 'model_calls', sum(model_calls),
          'input_tokens', sum(input_tokens), 'output_tokens', sum(output_tokens),
          'cache_read_input_tokens', sum(cache_read_input_tokens),
          'cache_creation_input_tokens', sum(cache_creation_input_tokens), 'cost', ${COST}) AS item
        FROM parts GROUP BY name ORDER BY name NULLS LAST LIMIT ${limit + 1}`,
  );
  return { rows: rows.slice(0, limit).map(({ item }) => item), hasMore: rows.length > limit };
}

/** The sums of the turns that have no group: those of the days, less those that `others` selects, which have one. */
function sumsWithout(others: Sql, inDays: Sql): Sql {
  return sql`
    SELECT NULL, currency, ${ALL_SUMS} FROM (
      SELECT currency, ${SUM_COLUMN_LIST} FROM usage_sums WHERE ${inDays} AND kind = 'day'
      UNION ALL
      SELECT currency, ${NEGATIVE} FROM usage_sums WHERE ${inDays} AND ${others}) AS s
    GROUP BY currency HAVING sum(turns) > 0 OR sum(model_calls) > 0`;
}

/** The whole days of UTC in a window; empty at its end if it has none. */
function wholeDays({ from, to }: UsageWindow): UsageWindow {
  const midnight = (time: string): string => `${time.slice(0, 10)}T00:00:00.000000Z`;
  if (midnight(from) >= midnight(to)) return { from: to, to };
  const start = midnight(from);
  const next = `${new Date(Date.parse(start) + 86_400_000).toISOString().slice(0, -1)}000Z`;
  return { from: start === from ? from : next, to: midnight(to) };
}

/** Its kind of sum, the expression for the group of a row, and, where the group may be null, which sums have the turns with a group. */
function partsOf(grouping: UsageGrouping): { kind: string; name: Sql; others: Sql | null } {
  switch (grouping) {
    case 'day':
      return { kind: 'day', name: sql`to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`, others: null };
    case 'model':
      return { kind: 'model', name: sql`model_id`, others: null };
    case 'session':
      return { kind: 'session', name: sql`session_id`, others: null };
    case 'agent':
      return { kind: 'agent', name: sql`agent_id`, others: sql`kind = 'agent'` };
    case 'agent_version':
      return { kind: 'agent_version', name: sql`(agent_id || '@' || agent_version)`, others: sql`kind = 'agent'` };
    default: {
      const { metadata: key } = grouping;
      return {
        kind: `metadata.${key}`,
        name: sql`(metadata->>${key}::text)`,
        others: sql`kind = 'metadata' AND name = ${key}`,
      };
    }
  }
}

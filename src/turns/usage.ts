import { moneyJson } from '../db/money.js';
import { rawSql, runSql, sql, type Sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import type { Money } from '../events/fields.js';
import type { PageRows } from '../platform/page.js';

export interface UsageGroup {
  /** Null for turns of sessions without the metadata key. */
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

export type UsageGrouping = 'day' | 'model' | 'session' | { metadata: string };

/** The turns that ended from `from` on and before `to`. */
export interface UsageWindow {
  from: string;
  to: string;
}

const COST = rawSql(
  moneyJson('sum(cost)', {
    isUnpriced: 'bool_or(is_unpriced) OR count(DISTINCT currency) > 1',
    currency: 'min(currency)',
  }),
);

/** A page of what the turns of a project took, by group in the order of code points, null last. */
export async function sumUsage(
  db: Db,
  projectId: string,
  { from, to }: UsageWindow,
  grouping: UsageGrouping,
  { after, limit }: { after: string | null; limit: number },
): Promise<PageRows<UsageGroup>> {
  const rows = await runSql<{ item: UsageGroup }>(
    db,
    sql`SELECT json_build_object('group', grouped."group", 'turns', count(DISTINCT turn_id),
          'model_calls', sum(model_calls), 'input_tokens', sum(input_tokens), 'output_tokens', sum(output_tokens),
          'cache_read_input_tokens', sum(cache_read_input_tokens),
          'cache_creation_input_tokens', sum(cache_creation_input_tokens), 'cost', ${COST}) AS item
        FROM (
          SELECT ${groupOf(grouping)} COLLATE "C" AS "group", turn_usage.* FROM turn_usage
          WHERE project_id = ${projectId} AND ended_at >= ${from}::timestamptz AND ended_at < ${to}::timestamptz) AS grouped
        WHERE ${after}::text IS NULL OR grouped."group" > ${after}::text OR grouped."group" IS NULL
        GROUP BY grouped."group" ORDER BY grouped."group" NULLS LAST LIMIT ${limit + 1}`,
  );
  return { rows: rows.slice(0, limit).map(({ item }) => item), hasMore: rows.length > limit };
}

function groupOf(grouping: UsageGrouping): Sql {
  switch (grouping) {
    case 'day':
      return sql`to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`;
    case 'model':
      return sql`model_id`;
    case 'session':
      return sql`session_id`;
    default:
      return sql`(metadata->>${grouping.metadata}::text)`;
  }
}

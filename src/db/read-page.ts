import type { Db } from './db.js';
import { MAX_PAGE_BYTES, type PageRows } from '../platform/page.js';

type PageOrder =
  | 'created_at DESC, id DESC'
  | 'active_at DESC, id DESC'
  | 'turn_number, position'
  | 'turn_number DESC, position DESC'
  | 'number DESC';

interface PageQuery {
  query: string;
  values: unknown[];
  order: PageOrder;
  limit: number;
  /**
   * For lists with large columns. The default reads every column of all `limit + 1` rows, also of those that the page
   * has no room for.
   */
  large?: LargeRows;
}

export interface LargeRows {
  /** SQL for the bytes of a row, which must not read the large columns. */
  bytes: string;
  /** The columns to return, large JSON as text. */
  columns: string;
}

const WHOLE_ROWS: LargeRows = { bytes: 'octet_length(page::text)', columns: '*' };

/**
 * Reads a page: at most `limit` rows of a query that returns up to `limit + 1` in that order. The page ends early once
 * its rows exceed MAX_PAGE_BYTES; Postgres sends no row beyond that.
 */
export async function readPage<Row>(
  db: Db,
  { query, values, order, limit, large = WHOLE_ROWS }: PageQuery,
): Promise<PageRows<Row>> {
  const found: (Row & { rows_found: number; bytes_before: number })[] = await db.query(
    `SELECT ${large.columns}, rows_found, bytes_before FROM (
       SELECT page.*, count(*) OVER () AS rows_found,
         coalesce(sum(${large.bytes}) OVER (
           ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
       FROM (${query}) AS page) AS counted
     WHERE bytes_before < ${MAX_PAGE_BYTES} ORDER BY ${order}`,
    values,
  );
  const rows = found.slice(0, limit).map(({ rows_found: _rows, bytes_before: _bytes, ...row }) => row as Row);
  return { rows, hasMore: (found[0]?.rows_found ?? 0) > rows.length };
}

import { ServiceError } from './errors.js';

export interface Page<T> {
  items: T[];
  meta: { next_cursor: string | null };
}

/** What a list is asked for: how many, and after which position (null: from the start). */
export interface PageRequest {
  limit: number;
  after: string[] | null;
}

/**
 * Cursors are opaque: base64url JSON of the list's name with its filter, and the sort key of the last item served.
 * A keyset survives new rows: nothing is repeated or skipped (contract.md §1).
 */
export function encodeCursor(list: string, key: string[]): string {
  return Buffer.from(JSON.stringify([list, ...key])).toString('base64url');
}

/**
 * Reads a cursor of `list` with `keyLength` parts.
 * @throws ServiceError `invalid_cursor` when malformed or of another list or filter
 */
export function decodeCursor(list: string, keyLength: number, cursor: string): string[] {
  const parts = parseCursor(cursor);
  if (parts === null || parts.length !== keyLength + 1 || parts[0] !== list) {
    throw new ServiceError(
      'invalid_cursor',
      'The cursor is malformed or belongs to another list. Pass meta.next_cursor of the previous page unchanged, with the same filters.',
    );
  }
  return parts.slice(1);
}

function parseCursor(cursor: string): string[] | null {
  if (cursor.length > 1024 || !/^[A-Za-z0-9_-]+$/.test(cursor)) return null;
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    const strings = Array.isArray(parts) && parts.every((part) => typeof part === 'string' && !part.includes('\0'));
    return strings ? (parts as string[]) : null;
  } catch {
    return null;
  }
}

/** Builds a page from `limit + 1` rows at the most: the one too many only tells that there is a next page. */
export function pageOf<Row, T>(
  list: string,
  rows: Row[],
  limit: number,
  keyOf: (row: Row) => string[],
  present: (row: Row) => T,
): Page<T> {
  const served = rows.slice(0, limit);
  const last = served.at(-1);
  return {
    items: served.map(present),
    meta: { next_cursor: rows.length > limit && last !== undefined ? encodeCursor(list, keyOf(last)) : null },
  };
}

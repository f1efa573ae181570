import { ServiceError } from './errors.js';
import { JsonText, jsonText } from './json-text.js';
import { MIB } from './units.js';

/** A page ends early once it exceeds this (decisions.md "Running it"). */
export const MAX_PAGE_BYTES = 4 * MIB;

export interface PageRows<Row> {
  rows: Row[];
  hasMore: boolean;
  /** The key of the place at which a search stopped that looks at some rows for each page; absent if it looked at all of them. */
  searchedTo?: string[] | undefined;
}

/** A page request: the limit, and the position to start after (null: from the start). */
export interface PageRequest {
  limit: number;
  after: string[] | null;
}

/**
 * Cursors are opaque: base64url JSON of the list's name with its filter, and the sort key of the last item served. New
 * rows neither repeat nor skip an item (decisions.md "HTTP").
 */
export function encodeCursor(list: string, key: string[]): string {
  return Buffer.from(JSON.stringify([list, ...key])).toString('base64url');
}

/**
 * Decodes a cursor of `list` with `keyLength` parts.
 * @throws ServiceError `invalid_cursor` if it is malformed, or belongs to another list or filter
 */
export function decodeCursor(list: string, keyLength: number, cursor: string): string[] {
  const parts = parseCursor(cursor);
  if (parts === null || parts.length !== keyLength + 1 || parts[0] !== list) {
    throw invalidCursor();
  }
  return parts.slice(1);
}

export function invalidCursor(): ServiceError {
  return new ServiceError(
    'invalid_cursor',
    'The cursor is malformed or belongs to another list. Pass meta.next_cursor of the previous page unchanged, with the same filters.',
  );
}

/** A group of metadata values in a cursor has up to 512 characters. */
const MAX_CURSOR_LENGTH = 8192;

function parseCursor(cursor: string): string[] | null {
  const bytes = Buffer.from(cursor.slice(0, MAX_CURSOR_LENGTH), 'base64url');
  // Node skips what is no base64url.
  if (bytes.toString('base64url') !== cursor) return null;
  try {
    const parts: unknown = JSON.parse(bytes.toString('utf8'));
    const strings = Array.isArray(parts) && parts.every((part) => typeof part === 'string' && !part.includes('\0'));
    return strings ? (parts as string[]) : null;
  } catch {
    return null;
  }
}

/**
 * Builds the JSON text of a page. It ends early once its items exceed MAX_PAGE_BYTES; the cursor then points behind its
 * last item.
 */
export function pageOf<Row>(
  list: string,
  { rows, hasMore, searchedTo }: PageRows<Row>,
  keyOf: (row: Row) => string[],
  present: (row: Row) => object,
): JsonText {
  const items: string[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (bytes > MAX_PAGE_BYTES) break;
    const item = jsonText(present(row));
    items.push(item);
    bytes += Buffer.byteLength(item);
  }
  const last = rows[items.length - 1];
  const isCut = hasMore || items.length < rows.length;
  const next = isCut && last !== undefined ? keyOf(last) : searchedTo;
  const meta = { next_cursor: next === undefined ? null : encodeCursor(list, next) };
  return new JsonText(`{"items":[${items.join(',')}],"meta":${JSON.stringify(meta)}}`);
}

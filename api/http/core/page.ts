import { createHash } from 'node:crypto';
import { objectSchema } from '../../../src/platform/object-schema.js';
import { ServiceError, validationError } from '../../../src/platform/errors.js';
import { decodeCursor, invalidCursor, pageOf, type PageRequest, type PageRows } from '../../../src/platform/page.js';
import type { JsonText } from '../../../src/platform/json-text.js';
import type { JsonSchema } from './operation.js';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/**
 * Reads `limit` and `cursor` of a list whose cursors have `keyLength` parts. `list` is the
 * list's name with its filter.
 */
export function pageRequest(query: Record<string, string>, list: string, keyLength: number): PageRequest {
  return {
    limit: limitOf(query.limit),
    after: query.cursor === undefined ? null : decodeCursor(list, keyLength, query.cursor),
  };
}

/** A page of a list sorted by creation, whose cursors hold `created_at` and id. `list` is the list's name with its filter. */
export async function newestPage<Row extends Record<'id' | 'created_at', unknown>>(
  query: Record<string, string>,
  list: string,
  read: (page: PageRequest) => Promise<PageRows<Row>>,
  present: (row: Row) => object,
): Promise<JsonText> {
  const rows = await read(newestFirst(query, list));
  return pageOf(list, rows, ({ created_at, id }) => [created_at, id] as string[], present);
}

/**
 * A page of a list that is in memory, whose cursors hold the name of an item. `list` is the list's name with its filter.
 * @param gone the message for a cursor whose item is not in the list
 */
export function pageOfItems<Item>(
  list: string,
  { limit, after }: PageRequest,
  items: readonly Item[],
  { nameOf, present, gone }: { nameOf: (item: Item) => string; present: (item: Item) => object; gone: string },
): JsonText {
  const start = after === null ? 0 : items.findIndex((item) => nameOf(item) === after[0]) + 1;
  if (after !== null && start === 0) throw new ServiceError('invalid_cursor', gone);
  const page = { rows: items.slice(start, start + limit), hasMore: start + limit < items.length };
  return pageOf(list, page, (item) => [nameOf(item)], present);
}

export function newestFirst(query: Record<string, string>, list: string): PageRequest {
  const request = pageRequest(query, list, 2);
  if (request.after !== null && !isTimestamp(request.after[0]!)) {
    throw invalidCursor();
  }
  return request;
}

/** The numbers of a cursor's key. Postgres must accept them, so their digits are limited. */
export function numbersOf(key: string[], maxDigits = 9): number[] {
  if (key.some((part) => part.length > maxDigits || !/^\d+$/.test(part))) throw invalidCursor();
  return key.map(Number);
}

/** The name of a list with its filter, for its cursors. */
export function filteredList(list: string, filter: unknown): string {
  return `${list} ${createHash('sha256').update(JSON.stringify(filter)).digest('base64url').slice(0, 22)}`;
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT)
    throw validationError('/query/limit', `must be an integer from 1 to ${MAX_LIMIT}`);
  return limit;
}

/** A date that does not exist, such as February 30, matches the pattern but fails in Postgres. */
export function isTimestamp(text: string): boolean {
  if (!/^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(text)) return false;
  const time = new Date(`${text.slice(0, 23)}Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().slice(0, 23) === text.slice(0, 23);
}

const meta = {
  $id: 'PageMeta',
  description: 'Where the list goes on.',
  ...objectSchema({
    next_cursor: {
      type: ['string', 'null'],
      description: 'Send it as `cursor` to get the next page; null on the last one.',
    },
  }),
};

export function pageSchema(item: JsonSchema): JsonSchema {
  const [example] = item.examples as object[];
  return {
    $id: `${item.$id as string}Page`,
    description: 'A page of a list.',
    ...objectSchema({ items: { type: 'array', items: item, description: 'The items of this page.' }, meta }),
    examples: [{ items: [example], meta: { next_cursor: null } }],
  };
}

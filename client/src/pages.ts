import type { Page, PageQuery } from './types.js';

/** The largest page size of the service. */
const MAX_LIMIT = 100;

/** The items of a list, over all its pages. It requests the next page when its first item is needed. */
export class ItemList<Item> implements AsyncIterable<Item> {
  #cursor: string | undefined;

  /** @internal */
  constructor(
    private readonly load: (cursor: string | undefined) => Promise<Page<Item>>,
    cursor: string | undefined,
  ) {
    this.#cursor = cursor;
  }

  /**
   * The cursor of the page under way. An iteration that is given it begins with this page again: it repeats the items of
   * one page at most, skips none, and finds those that were added at the end since then.
   */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void> {
    for (;;) {
      const { items, meta } = await this.load(this.#cursor);
      yield* items;
      if (meta.next_cursor === null) return;
      this.#cursor = meta.next_cursor;
    }
  }
}

/** @internal Iterates over a list. `query` is that of the list; its `limit` is the size of the pages. */
export function eachItem<Item, Query extends PageQuery>(
  query: Query,
  load: (query: Query) => Promise<Page<Item>>,
): ItemList<Item> {
  const limit = query.limit ?? MAX_LIMIT;
  return new ItemList((cursor) => load({ ...query, limit, ...(cursor !== undefined && { cursor }) }), query.cursor);
}

import type { Page } from './types.js';

/** @internal Every item of a list, page by page; the next page is asked for when its first item is. */
export async function* eachItem<Item>(load: (cursor?: string) => Promise<Page<Item>>): AsyncGenerator<Item, void> {
  let cursor: string | null | undefined;
  do {
    const { items, meta } = await load(cursor ?? undefined);
    yield* items;
    cursor = meta.next_cursor;
  } while (cursor !== null);
}

import type { Page } from './types.js';

/** @internal Iterates over all items of a list. It requests the next page when its first item is needed. */
export async function* eachItem<Item>(load: (cursor?: string) => Promise<Page<Item>>): AsyncGenerator<Item, void> {
  let cursor: string | null | undefined;
  do {
    const { items, meta } = await load(cursor ?? undefined);
    yield* items;
    cursor = meta.next_cursor;
  } while (cursor !== null);
}

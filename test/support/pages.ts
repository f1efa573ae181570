import { expect } from 'chai';
import type { ApiCall, ApiResponse } from './client.js';

/** The pages of a list, up to the last one. `path` has a query. */
export async function* pagesOf(api: ApiCall, path: string): AsyncGenerator<ApiResponse['body']> {
  for (let cursor = ''; ;) {
    const { status, body } = await api('GET', `${path}${cursor}`);
    expect(status, JSON.stringify(body)).to.equal(200);
    yield body;
    if (body.meta.next_cursor === null) return;
    cursor = `&cursor=${body.meta.next_cursor}`;
  }
}

/** The items of all pages. */
export async function allItems(api: ApiCall, path: string): Promise<ApiResponse['body'][]> {
  const items = [];
  for await (const page of pagesOf(api, path)) items.push(...page.items);
  return items;
}

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Page } from '../../../client/src/index.js';

export interface List<Item> {
  /** Null until the first page has come. */
  items: Item[] | null;
  error: unknown;
  hasMore: boolean;
  busy: boolean;
  loadMore: () => void;
  reload: () => void;
}

type LoadPage<Item> = (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>;

/** A list that grows page by page; starts again when `dependencies` change. */
export function useList<Item>(load: LoadPage<Item>, dependencies: unknown[]): List<Item> {
  const [items, setItems] = useState<Item[] | null>(null);
  const [cursor, setCursor] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(true);
  const running = useRef<AbortController | null>(null);

  const loadPage = useCallback(async (from: string | undefined) => {
    running.current?.abort();
    const { signal } = (running.current = new AbortController());
    setBusy(true);
    try {
      const page = await load(from, signal);
      if (signal.aborted) return;
      setItems((before) => (from === undefined ? page.items : [...(before ?? []), ...page.items]));
      setCursor(page.meta.next_cursor);
      setError(null);
    } catch (cause) {
      if (!signal.aborted) setError(cause);
    }
    if (!signal.aborted) setBusy(false);
  }, dependencies);

  useEffect(() => {
    setItems(null);
    void loadPage(undefined);
    return () => running.current?.abort();
  }, [loadPage]);

  return {
    items,
    error,
    hasMore: cursor !== null,
    busy,
    loadMore: () => void loadPage(cursor ?? undefined),
    reload: () => void loadPage(undefined),
  };
}

import { useEffect, useState } from 'preact/hooks';
import type { TimelineEntry } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';

const PAGE = 100;
const INTERVAL_MS = 2_000;

interface Timeline {
  /** Null until the first page has come. */
  entries: TimelineEntry[] | null;
  error: unknown;
}

/** The timeline of a turn, page by page; read again while the turn goes on. */
export function useTimeline(sessionId: string, turnId: string, isOpen: boolean): Timeline {
  const client = useClient();
  const [timeline, setTimeline] = useState<Timeline>({ entries: null, error: null });
  useEffect(() => setTimeline({ entries: null, error: null }), [turnId]);
  useEffect(() => {
    const leave = new AbortController();
    const { signal } = leave;
    let timer = 0;
    const read = async (): Promise<void> => {
      const entries: TimelineEntry[] = [];
      for (let cursor: string | undefined; ;) {
        const page = await client.listTimelineEntries(sessionId, turnId, { limit: PAGE, cursor }, { signal });
        entries.push(...page.items);
        const read = [...entries];
        // What was read before stays in view until there is more.
        setTimeline((before) =>
          (before.entries?.length ?? 0) > read.length ? before : { entries: read, error: null },
        );
        if (page.meta.next_cursor === null) return;
        cursor = page.meta.next_cursor;
      }
    };
    const repeat = async (): Promise<void> => {
      try {
        await read();
      } catch (error) {
        if (!signal.aborted) setTimeline((before) => ({ ...before, error }));
      }
      if (isOpen && !signal.aborted) timer = window.setTimeout(() => void repeat(), INTERVAL_MS);
    };
    void repeat();
    return () => (leave.abort(), clearTimeout(timer));
  }, [client, sessionId, turnId, isOpen]);
  return timeline;
}

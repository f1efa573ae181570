import { reachedBy } from './rows.js';

/** One frame of a stream as it stood on the wire. */
export interface SseFrame {
  id: string;
  event: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into events of many types
  data: any;
  /** When it arrived, by performance.now(). */
  at: number;
}

/** A raw reader of an event stream, for tests of the wire itself: nothing reconnects, nothing is left out. */
export interface SseReader {
  status: number;
  headers: Headers;
  frames: SseFrame[];
  comments: string[];
  /** The last `retry:` in ms. */
  retry: number | null;
  /** Resolves with the frame that satisfies the test; rejects when the stream ends without one. */
  until(test: (frame: SseFrame) => boolean): Promise<SseFrame>;
  /** Resolves when the server has ended the stream. */
  ended: Promise<void>;
  /** Cuts the connection. */
  close(): void;
}

/** Opens an event stream. `lastEventId` resumes. */
export async function openSse(url: string, key: string, lastEventId?: string): Promise<SseReader> {
  const reader = await readSse(url, {
    headers: {
      Authorization: `Bearer ${key}`,
      ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }),
    },
  });
  reachedBy('GET', new URL(url).pathname, reader.status, null);
  return reader;
}

/** Reads the event stream that answers any request. */
export async function readSse(url: string, request: RequestInit): Promise<SseReader> {
  const controller = new AbortController();
  const response = await fetch(url, { ...request, signal: controller.signal });
  const waiting = new Set<() => void>();
  let over = false;
  const reader: SseReader = {
    status: response.status,
    headers: response.headers,
    frames: [],
    comments: [],
    retry: null,
    async until(test) {
      for (let next = 0; ;) {
        for (; next < reader.frames.length; next += 1) if (test(reader.frames[next]!)) return reader.frames[next]!;
        if (over) throw new Error(`the stream ended after ${reader.frames.length} frames without the one waited for`);
        await new Promise<void>((resolve) => waiting.add(resolve));
      }
    },
    ended: Promise.resolve(),
    close: () => controller.abort(),
  };
  const wake = (): void => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const chunk of response.body ?? []) {
        const blocks = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n\n');
        rest = blocks.pop()!;
        for (const block of blocks) take(block, reader);
        wake();
      }
    } catch {
      // Cut, by this side or the other.
    }
    over = true;
    wake();
  };
  reader.ended = read();
  return reader;
}

function take(block: string, reader: SseReader): void {
  const fields: Record<string, string> = {};
  for (const line of block.split('\n')) {
    if (line.startsWith(':')) reader.comments.push(line);
    else if (line !== '') fields[line.slice(0, line.indexOf(':'))] = line.slice(line.indexOf(':') + 2);
  }
  if (fields.retry !== undefined) reader.retry = Number(fields.retry);
  if (fields.data === undefined) return;
  reader.frames.push({
    id: fields.id ?? '',
    event: fields.event ?? '',
    data: JSON.parse(fields.data),
    at: performance.now(),
  });
}

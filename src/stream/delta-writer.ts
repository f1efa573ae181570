import { addDelta, type DeltaRun, type DeltaSource } from './delta-batch.js';
import { splitsSurrogatePair } from '../platform/text.js';
import type { DeltaType } from '../events/stream-schema.js';
import { ignored } from '../platform/ignored.js';

/** JSON needs at most six bytes per character, and a notification has room for 7,700 bytes. */
const MAX_CHARACTERS = 1200;

/** The deltas that wait for a flush. */
export interface WrittenDeltas {
  last: number;
  runs: DeltaRun[];
}

interface SendingStore {
  add(writer: DeltaWriter, isUrgent: boolean): void;
  flush(): Promise<void>;
  withRest<T>(writer: DeltaWriter, store: (rest: WrittenDeltas | null) => Promise<T>): Promise<T>;
}

/**
 * The deltas of one model call. Fragments of text gather here until the store sends them; those of one type become one delta. It is
 * sent live, and stored at the next flush for clients that resume.
 */
export class DeltaWriter {
  #fragments: [type: DeltaType, content: string][] = [];
  #last = 0;
  #runs: DeltaRun[] = [];
  #isClosed = false;

  /** @internal */
  constructor(
    readonly source: DeltaSource,
    private readonly store: SendingStore,
    private readonly onFenced: () => void,
  ) {}

  /** Number of deltas sent live so far. */
  get count(): number {
    return this.#last;
  }

  write(type: DeltaType, content: string): void {
    if (this.#isClosed || content === '') return;
    const isFirst = this.#last === 0 && this.#fragments.length === 0;
    const latest = this.#fragments.at(-1);
    // Each notice of a retry is a JSON object.
    if (latest?.[0] === type && type !== 'agent.retry.delta') latest[1] += content;
    else this.#fragments.push([type, content]);
    this.store.add(this, isFirst || type === 'agent.retry.delta');
  }

  /** @internal Makes deltas of the fragments that have gathered. Returns the deltas, and the number of the first one. */
  gather(): { first: number; runs: DeltaRun[] } {
    const first = this.#last + 1;
    const runs: DeltaRun[] = [];
    for (const [type, content] of this.#fragments) {
      for (const piece of pieces(content)) {
        addDelta(runs, type, piece);
        addDelta(this.#runs, type, piece);
        this.#last += 1;
      }
    }
    this.#fragments = [];
    return { first, runs };
  }

  /** Stores what was written. Must succeed before the events that follow these deltas are stored. */
  flush(): Promise<void> {
    return this.store.flush();
  }

  /** @internal The deltas that wait for a flush. */
  take(): WrittenDeltas {
    const runs = this.#runs;
    this.#runs = [];
    return { last: this.#last, runs };
  }

  /** @internal After a failed flush: its deltas go with the next one. */
  putBack({ runs }: WrittenDeltas): void {
    this.#runs = [...runs, ...this.#runs];
  }

  /** Runs `store`, which stores the event after these deltas, and with it the deltas that are not stored yet. */
  storeWithRest<T>(store: (rest: WrittenDeltas | null) => Promise<T>): Promise<T> {
    return this.store.withRest(this, store);
  }

  /** @internal Nothing more is stored, so nothing more is sent. */
  fence(): void {
    if (!this.#isClosed) this.onFenced();
    this.#isClosed = true;
    this.#fragments = [];
  }

  /** @internal Stops the stream. Deltas that were sent live are stored first. */
  stop(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    void this.store.flush().catch(ignored('the call ends either way')).then(this.onFenced);
  }
}

function* pieces(content: string): Generator<string> {
  for (let start = 0; start < content.length;) {
    let end = Math.min(start + MAX_CHARACTERS, content.length);
    if (end < content.length && splitsSurrogatePair(content, end)) end -= 1;
    yield content.slice(start, end);
    start = end;
  }
}

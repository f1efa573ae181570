import { addDelta, type DeltaRun, type DeltaSource } from './delta-batch.js';
import { splitsSurrogatePair } from '../platform/text.js';
import type { Notifier } from './notify.js';
import type { DeltaType } from '../events/stream-schema.js';
import { ignored } from '../platform/ignored.js';

/** JSON needs at most six bytes per character, and a notification has room for 7,700 bytes. */
const MAX_CHARACTERS = 1200;

/** The deltas that wait for a flush. */
export interface WrittenDeltas {
  last: number;
  runs: DeltaRun[];
}

interface FlushingStore {
  notifier: Notifier;
  add(writer: DeltaWriter): void;
  flush(): Promise<void>;
  withRest<T>(writer: DeltaWriter, store: (rest: WrittenDeltas | null) => Promise<T>): Promise<T>;
}

/** The deltas of one model call. Each is sent live at once and stored at the next flush, for clients that resume. */
export class DeltaWriter {
  #last = 0;
  #runs: DeltaRun[] = [];
  #isClosed = false;

  /** @internal */
  constructor(
    readonly source: DeltaSource,
    private readonly store: FlushingStore,
    private readonly onFenced: () => void,
  ) {}

  /** Number of deltas sent live so far. */
  get count(): number {
    return this.#last;
  }

  write(type: DeltaType, content: string): void {
    if (this.#isClosed) return;
    for (const piece of pieces(content)) {
      this.#last += 1;
      this.store.notifier.delta(this.source, this.#last, type, piece);
      addDelta(this.#runs, type, piece);
    }
    if (this.#runs.length > 0) this.store.add(this);
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

  /** @internal */
  fence(): void {
    if (!this.#isClosed) this.onFenced();
    this.#isClosed = true;
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

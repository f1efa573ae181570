import type { Database, Tx } from '../db/db.js';
import { write } from '../db/transaction.js';
import type { DeltaType } from '../events/stream-schema.js';
import { ignored } from '../platform/ignored.js';
import type { Logger } from '../platform/logger.js';
import { splitsSurrogatePair } from '../platform/text.js';
import { addDelta, type DeltaRun, type DeltaSource } from './delta-batch.js';
import { DeltaPace } from './delta-pace.js';
import { withPartitions } from './delta-partitions.js';
import type { Notifier } from './notify.js';

const FLUSH_INTERVAL_MS = 250;
/**
 * A worker may miss the notification of a cancel request. The stream stops this long after the request, at a flush, well before the
 * reconciler ends the turn (src/reconciler/overdue-cancels.ts derives its time from this one). So the cut-off message contains everything
 * that watchers received.
 */
export const STOP_AFTER_CANCEL_MS = 2 * FLUSH_INTERVAL_MS;
/** JSON needs at most six bytes per character, and a notification has room for 7,700 bytes. */
const MAX_CHARACTERS = 1200;

/** The deltas of a call that are not stored yet; `last` is the number of the last one that was sent live, 0 without any. */
export interface UnstoredDeltas {
  last: number;
  runs: DeltaRun[];
}

/** The deltas of one model call: fragments of text that are not sent, and deltas that are not stored. */
class CallDeltas {
  #isClosed = false;
  #fragments: [type: DeltaType, content: string][] = [];
  #last = 0;
  #unstored: DeltaRun[] = [];

  constructor(
    readonly source: DeltaSource,
    readonly onStopped: () => void,
  ) {}

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isEmpty(): boolean {
    return this.#last === 0 && this.#fragments.length === 0;
  }

  /** Fragments of one type become one delta. Each notice of a retry is a JSON object of its own. */
  add(type: DeltaType, content: string): void {
    const latest = this.#fragments.at(-1);
    if (latest?.[0] === type && type !== 'agent.retry.delta') latest[1] += content;
    else this.#fragments.push([type, content]);
  }

  /** Makes deltas of the fragments. Returns the deltas to send, and the number of the first one. */
  pack(): { first: number; runs: DeltaRun[] } {
    const first = this.#last + 1;
    const runs: DeltaRun[] = [];
    for (const [type, content] of this.#fragments) {
      for (const piece of pieces(content)) {
        addDelta(runs, type, piece);
        addDelta(this.#unstored, type, piece);
        this.#last += 1;
      }
    }
    this.#fragments = [];
    return { first, runs };
  }

  take(): UnstoredDeltas {
    const runs = this.#unstored;
    this.#unstored = [];
    return { last: this.#last, runs };
  }

  putBack({ runs }: UnstoredDeltas): void {
    this.#unstored = [...runs, ...this.#unstored];
  }

  /** Nothing more is sent. */
  close(): void {
    this.#isClosed = true;
    this.#fragments = [];
  }
}

/**
 * Sends the deltas of all model calls of a process live, together as the load demands, and stores them: one row per call and flush,
 * and one statement per flush.
 */
export class DeltaStore {
  /** The calls with fragments that are not sent. */
  readonly #gathering = new Set<CallDeltas>();
  #sentAt = 0;
  #sending: { at: number; cancel: () => void } | null = null;
  /** The calls with deltas that are not stored. */
  readonly #unstored = new Set<CallDeltas>();
  #timer: NodeJS.Timeout | null = null;
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;

  constructor(
    private readonly db: Database,
    private readonly notifier: Notifier,
    private readonly log: Logger,
    private readonly pace: Pick<DeltaPace, 'windowMs'> = new DeltaPace(),
  ) {}

  /** `onStopped` is called if the turn has ended or moved on, or another call has begun: then nothing more is stored. */
  open(source: DeltaSource, onStopped: () => void): CallDeltas {
    return new CallDeltas(source, onStopped);
  }

  /** Sends a fragment to watchers within the time of the next sending, and stores it at the next flush for clients that resume. */
  write(deltas: CallDeltas, type: DeltaType, content: string): void {
    if (deltas.isClosed || content === '') return;
    const isUrgent = deltas.isEmpty || type === 'agent.retry.delta';
    deltas.add(type, content);
    this.#gathering.add(deltas);
    this.#planSending(isUrgent);
  }

  /** Stores everything written so far. Calls made during a flush share the next one. */
  flush(): Promise<void> {
    this.#send();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#next ??= this.#current.catch(ignored('who asked for that flush has the error')).then(() => {
      this.#next = null;
      this.#current = this.#store();
      return this.#current;
    });
    return this.#next;
  }

  /**
   * Takes what a flush has not stored of a call, for the transaction that stores the events after these deltas. Waits for a flush
   * under way, which may have some of them. If the transaction fails, `putBack` returns them.
   */
  async takeUnstored(deltas: CallDeltas): Promise<UnstoredDeltas> {
    this.#send();
    for (let flush; flush !== this.#current;) {
      flush = this.#current;
      await flush.catch(ignored('who asked for that flush has the error'));
    }
    this.#unstored.delete(deltas);
    return deltas.take();
  }

  /** The next flush stores these deltas. */
  putBack(deltas: CallDeltas, unstored: UnstoredDeltas): void {
    if (unstored.runs.length === 0) return;
    deltas.putBack(unstored);
    this.#keep(deltas);
  }

  /** Urgent fragments do not wait for the time of the next sending. */
  #planSending(isUrgent: boolean): void {
    const now = performance.now();
    const at = isUrgent ? now : Math.max(now, this.#sentAt + this.pace.windowMs);
    if (this.#sending !== null && this.#sending.at <= at) return;
    this.#sending?.cancel();
    const send = (): void => this.#send();
    // All that this round of the event loop reads from models leaves together.
    if (at <= now) {
      const immediate = setImmediate(send);
      this.#sending = { at, cancel: () => clearImmediate(immediate) };
    } else {
      const timer = setTimeout(send, at - now);
      this.#sending = { at, cancel: () => clearTimeout(timer) };
    }
  }

  #send(): void {
    this.#sending?.cancel();
    this.#sending = null;
    if (this.#gathering.size === 0) return;
    this.#sentAt = performance.now();
    for (const deltas of this.#gathering) {
      const { first, runs } = deltas.pack();
      if (runs.length === 0) continue;
      this.notifier.deltas(deltas.source, first, runs);
      this.#keep(deltas);
    }
    this.#gathering.clear();
  }

  /** Stores what was sent of a call at the next flush. */
  #keep(deltas: CallDeltas): void {
    this.#unstored.add(deltas);
    this.#timer ??= setTimeout(() => {
      this.flush().catch((err: unknown) => {
        this.log.warn({ err }, 'deltas could not be stored; the next flush stores them');
        for (const each of this.#unstored) this.#keep(each);
      });
    }, FLUSH_INTERVAL_MS);
  }

  async #store(): Promise<void> {
    const calls = [...this.#unstored].map((deltas) => ({ deltas, taken: deltas.take() }));
    if (calls.length === 0) return;
    this.#unstored.clear();
    let accepted: Map<string, boolean>;
    try {
      accepted = await this.#insert(calls.map(({ deltas: { source }, taken }) => ({ ...source, ...taken })));
    } catch (error) {
      for (const { deltas, taken } of calls) {
        deltas.putBack(taken);
        this.#unstored.add(deltas);
      }
      throw error;
    }
    for (const { deltas } of calls) {
      if (deltas.isClosed) continue;
      const mustStop = accepted.get(keyOf(deltas.source));
      if (mustStop === undefined) {
        deltas.close();
        deltas.onStopped();
      } else if (mustStop) this.#stop(deltas);
    }
  }

  /** Stops a call whose cancel request is old. Its last fragments are sent and stored before. */
  #stop(deltas: CallDeltas): void {
    const flushed = this.flush();
    deltas.close();
    void flushed.catch(ignored('the call ends either way')).then(deltas.onStopped);
  }

  /** Returns the accepted calls, each with whether its stream has to stop. */
  async #insert(rows: (DeltaSource & UnstoredDeltas)[]): Promise<Map<string, boolean>> {
    const insert = (): Promise<{ turn_id: string; call: number; must_stop: boolean }[]> =>
      this.db.query(INSERT_ACCEPTED, [
        rows.map(({ turnId }) => turnId),
        rows.map(({ position }) => position),
        rows.map(({ call }) => call),
        rows.map(({ last }) => last),
        rows.map(({ messageId }) => messageId),
        rows.map(({ runs }) => JSON.stringify(runs)),
      ]);
    const accepted = await withPartitions(this.db, insert);
    return new Map(
      accepted.map(({ turn_id: turnId, call, must_stop: mustStop }) => [keyOf({ turnId, call }), mustStop]),
    );
  }
}

/**
 * Only this statement commits asynchronously: if Postgres crashes, the most recent deltas may be lost, but never an
 * event. The turn's row is read without a lock: readers are already past deltas that a flush stores too late.
 */
const INSERT_ACCEPTED = `
  WITH setting AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
  accepted AS (
    SELECT turn_id, d.position, call, last, message_id, runs,
      coalesce(cancel_requested_at < statement_timestamp() - interval '${STOP_AFTER_CANCEL_MS} ms', false) AS must_stop
    FROM unnest($1::text[], $2::integer[], $3::integer[], $4::integer[], $5::text[], $6::text[])
      AS d(turn_id, position, call, last, message_id, runs)
    JOIN turns ON id = turn_id AND state = 'running' AND turns.position = d.position AND model_calls = call),
  stored AS (
    INSERT INTO deltas (turn_id, position, call, last, message_id, runs)
    SELECT turn_id, position, call, last, message_id, runs FROM accepted, setting)
  SELECT turn_id, call, must_stop FROM accepted`;

function keyOf({ turnId, call }: Pick<DeltaSource, 'turnId' | 'call'>): string {
  return `${turnId} ${call}`;
}

const INSERT = `
  INSERT INTO deltas (turn_id, position, call, last, message_id, runs) VALUES ($1, $2, $3, $4, $5, $6)`;

/** Stores deltas in the transaction of the events after them: who sees the events sees the deltas. Run it in `withPartitions`. */
export function insertDeltas(tx: Tx, source: DeltaSource, { last, runs }: UnstoredDeltas): void {
  if (runs.length === 0) return;
  const { turnId, position, call, messageId } = source;
  write(tx, INSERT, [turnId, position, call, last, messageId, JSON.stringify(runs)]);
}

function* pieces(content: string): Generator<string> {
  for (let start = 0; start < content.length;) {
    let end = Math.min(start + MAX_CHARACTERS, content.length);
    if (end < content.length && splitsSurrogatePair(content, end)) end -= 1;
    yield content.slice(start, end);
    start = end;
  }
}

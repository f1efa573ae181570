import type { DataSource } from 'typeorm';
import { sqlState } from '../db/transaction.js';
import type { Logger } from '../platform/logger.js';
import type { DeltaSource } from './delta-batch.js';
import { DeltaPace } from './delta-pace.js';
import { createPartitions } from './delta-partitions.js';
import { DeltaWriter, type WrittenDeltas } from './delta-writer.js';
import type { Notifier } from './notify.js';
import { ignored } from '../platform/ignored.js';

const FLUSH_INTERVAL_MS = 250;
/**
 * A worker may miss the notification of a cancel request. The stream stops this long after the request, at a flush, well before the
 * reconciler ends the turn (src/reconciler/rounds.ts derives its time from this one). So the cut-off message contains everything
 * that watchers received.
 */
export const STOP_AFTER_CANCEL_MS = 2 * FLUSH_INTERVAL_MS;
/** SQLSTATE check_violation: no partition accepts the row. */
const NO_PARTITION = '23514';

/**
 * Sends the deltas of all model calls of a process live, together as the load demands, and stores them: one row per call and flush,
 * and one statement per flush.
 */
export class DeltaStore {
  /** The writers with fragments that are not sent. */
  readonly #gathering = new Set<DeltaWriter>();
  #sentAt = 0;
  #sending: { at: number; cancel: () => void } | null = null;
  /** The writers with deltas that are not stored. */
  #waiting = new Set<DeltaWriter>();
  #timer: NodeJS.Timeout | null = null;
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;

  constructor(
    private readonly db: DataSource,
    private readonly notifier: Notifier,
    private readonly log: Logger,
    private readonly pace: Pick<DeltaPace, 'windowMs'> = new DeltaPace(),
  ) {}

  /** `onFenced` is called if the turn has ended or moved on, or another call has begun: then nothing is stored. */
  open(source: DeltaSource, onFenced: () => void): DeltaWriter {
    return new DeltaWriter(source, this, onFenced);
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
   * Runs the statement that stores the event after a writer's deltas, with those that are not stored yet: null if there are none.
   * A flush under way may have some of them.
   */
  async withRest<T>(writer: DeltaWriter, store: (rest: WrittenDeltas | null) => Promise<T>): Promise<T> {
    this.#send();
    await this.#current.catch(ignored('who asked for that flush has the error'));
    const rest = this.#waiting.delete(writer) ? writer.take() : null;
    try {
      return await this.#withPartitions(() => store(rest));
    } catch (error) {
      if (rest !== null) {
        writer.putBack(rest);
        this.#keep(writer);
      }
      throw error;
    }
  }

  /** Runs a statement that stores deltas; again, if there was no partition for them. */
  async #withPartitions<T>(store: () => Promise<T>): Promise<T> {
    try {
      return await store();
    } catch (error) {
      if (sqlState(error) !== NO_PARTITION) throw error;
      await createPartitions(this.db);
      return store();
    }
  }

  /** @internal A writer has fragments. Urgent ones do not wait for the time of the next sending. */
  add(writer: DeltaWriter, isUrgent: boolean): void {
    this.#gathering.add(writer);
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
    for (const writer of this.#gathering) {
      const { first, runs } = writer.gather();
      if (runs.length === 0) continue;
      this.notifier.deltas(writer.source, first, runs);
      this.#keep(writer);
    }
    this.#gathering.clear();
  }

  /** Stores what a writer has sent at the next flush. */
  #keep(writer: DeltaWriter): void {
    this.#waiting.add(writer);
    this.#timer ??= setTimeout(() => {
      this.flush().catch((err: unknown) => {
        this.log.warn({ err }, 'deltas could not be stored; the next flush stores them');
        for (const waiting of this.#waiting) this.#keep(waiting);
      });
    }, FLUSH_INTERVAL_MS);
  }

  async #store(): Promise<void> {
    const writers = [...this.#waiting];
    if (writers.length === 0) return;
    this.#waiting.clear();
    const batches = writers.map((writer) => writer.take());
    let accepted: Map<string, boolean>;
    try {
      accepted = await this.#insert(writers, batches);
    } catch (error) {
      for (const [index, writer] of writers.entries()) writer.putBack(batches[index]!);
      for (const writer of writers) this.#waiting.add(writer);
      throw error;
    }
    for (const writer of writers) {
      const mustStop = accepted.get(keyOf(writer.source));
      if (mustStop === undefined) writer.fence();
      else if (mustStop) writer.stop();
    }
  }

  /** Returns the accepted calls, each with whether its stream has to stop. */
  async #insert(writers: DeltaWriter[], batches: WrittenDeltas[]): Promise<Map<string, boolean>> {
    const sources = writers.map(({ source }) => source);
    const insert = (): Promise<{ turn_id: string; call: number; must_stop: boolean }[]> =>
      this.db.query(INSERT, [
        sources.map(({ turnId }) => turnId),
        sources.map(({ position }) => position),
        sources.map(({ call }) => call),
        sources.map(({ attempt }) => attempt),
        batches.map(({ last }) => last),
        sources.map(({ messageId }) => messageId),
        batches.map(({ runs }) => JSON.stringify(runs)),
      ]);
    const rows = await this.#withPartitions(insert);
    return new Map(rows.map(({ turn_id: turnId, call, must_stop: mustStop }) => [keyOf({ turnId, call }), mustStop]));
  }
}

/**
 * Only this statement commits asynchronously: if Postgres crashes, the most recent deltas may be lost, but never an
 * event. The turn's row is read without a lock: readers are already past deltas that a flush stores too late.
 */
const INSERT = `
  WITH setting AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
  accepted AS (
    SELECT turn_id, d.position, call, attempt, last, message_id, runs,
      coalesce(cancel_requested_at < statement_timestamp() - interval '${STOP_AFTER_CANCEL_MS} ms', false) AS must_stop
    FROM unnest($1::text[], $2::integer[], $3::integer[], $4::integer[], $5::integer[], $6::text[], $7::text[])
      AS d(turn_id, position, call, attempt, last, message_id, runs)
    JOIN turns ON id = turn_id AND state = 'running' AND turns.position = d.position AND model_calls = call),
  stored AS (
    INSERT INTO deltas (turn_id, position, attempt, last, message_id, runs)
    SELECT turn_id, position, attempt, last, message_id, runs FROM accepted, setting)
  SELECT turn_id, call, must_stop FROM accepted`;

function keyOf({ turnId, call }: Pick<DeltaSource, 'turnId' | 'call'>): string {
  return `${turnId} ${call}`;
}

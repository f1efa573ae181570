import type { LimitFunction } from 'p-limit';
import type { DataSource } from 'typeorm';
import type { Logger } from '../platform/logger.js';
import { countDeltas, type DeltaBatch } from './delta-batch.js';
import { framesOf, framesOfEvents, readFrames, type Frame } from './frames.js';
import type { LiveEvents } from './notify.js';
import { comparePositions, START, type Position } from './position.js';
import { MAX_RING_BYTES, type FrameRing } from './ring.js';
import { TERMINAL_EVENTS } from '../events/schema.js';

const GAP_RETRY_MS = 60;
const MAX_PENDING = 10_000;

type LiveDeltas = DeltaBatch & { sentAt: number };

/**
 * The latest frames of one turn, shared by all its watchers in this process. Live deltas are accepted while they follow
 * without a gap; missing ones are read from the tables. A watcher that needs frames older than the ring reads the
 * tables itself.
 */
export class TurnReader {
  /** Callbacks of the watchers, called when there may be new frames. The feed maintains them. */
  readonly watchers = new Set<() => void>();
  #pending: LiveDeltas[] = [];
  #catching: Promise<void> | null = null;
  #isReading = false;
  #again = false;
  #gapTimer: NodeJS.Timeout | null = null;
  #closed = false;
  readonly beganAt = performance.now();

  /**
   * `listening` resolves once notifications of the turn arrive. The first read starts after that. `limit` bounds the reads
   * of all readers.
   */
  constructor(
    readonly turnId: string,
    readonly ring: FrameRing,
    private readonly listening: Promise<void>,
    private readonly limit: LimitFunction,
    private readonly db: DataSource,
    private readonly log: Logger,
  ) {
    this.catchUp();
  }

  /**
   * The available frames after `position`, possibly none, in order and without a gap. To continue, call it again with
   * the position of the last frame.
   */
  async after(position: Position): Promise<Frame[]> {
    if (this.ring.floor === null) await this.#catching;
    return this.ring.after(position) ?? (await readFrames(this.db, this.turnId, position, true)).frames;
  }

  /**
   * The tables hold frames up to `position`, which may be a delta: a reader created while deltas were being stored has
   * missed their notification.
   */
  storedUpTo(position: Position): void {
    if (this.ring.floor === null || comparePositions(position, this.ring.head) > 0) this.catchUp();
  }

  /** Events up to `position` were stored. `live` contains them if they were short. */
  takeStored(position: number, live: LiveEvents | null): void {
    const isNext =
      live !== null &&
      this.#catching === null &&
      this.#pending.length === 0 &&
      this.ring.floor !== null &&
      comparePositions(live.after, this.ring.head) === 0;
    if (isNext) this.#append(framesOfEvents(live.events));
    else this.storedUpTo([position, 0, 0]);
  }

  takeLive(batch: LiveDeltas): void {
    if (this.#pending.length === 0 && this.#catching === null && this.#joins(batch, false)) {
      this.#append(framesOf(batch, batch.sentAt));
      return;
    }
    if (this.ring.floor !== null && comparePositions(lastOf(batch), this.ring.head) <= 0) return;
    this.#pending.push(batch);
    // These deltas will be in the tables.
    if (this.#pending.length > MAX_PENDING) this.#pending = [];
    this.catchUp();
  }

  /** Reads the frames after the head from the tables. */
  catchUp(): void {
    if (this.#closed) return;
    if (this.#catching !== null) {
      // A read that has not begun will find it.
      this.#again ||= this.#isReading;
      return;
    }
    this.#catching = this.listening
      .then(() => this.limit(() => this.#read()))
      .catch((err: unknown) => this.log.warn({ err, turn_id: this.turnId }, 'a stream reader could not read on'))
      .finally(() => {
        this.#catching = null;
        this.#isReading = false;
        if (this.#again) {
          this.#again = false;
          this.catchUp();
        } else if (this.#pending.length > 0 && !this.#closed) {
          // The writer's next flush fills a gap.
          this.#gapTimer ??= setTimeout(() => {
            this.#gapTimer = null;
            this.catchUp();
          }, GAP_RETRY_MS);
        }
      });
  }

  close(): void {
    this.#closed = true;
    this.ring.clear();
    if (this.#gapTimer !== null) clearTimeout(this.#gapTimer);
    this.#notify();
  }

  async #read(): Promise<void> {
    if (this.#closed) return;
    this.#isReading = true;
    let isAtEnd = this.ring.floor === null && (await this.#begin());
    while (!isAtEnd) {
      const { frames, hasMore } = await readFrames(this.db, this.turnId, this.ring.head, true);
      this.#append(frames);
      isAtEnd = !hasMore;
    }
    this.#drainPending();
  }

  /**
   * Reads a short turn completely. In a long turn the reader starts at the last stored event, and each watcher reads
   * the earlier frames itself. Returns whether the reader has reached the end.
   */
  async #begin(): Promise<boolean> {
    const { frames, hasMore } = await readFrames(this.db, this.turnId, START, true, MAX_RING_BYTES);
    if (hasMore) {
      const [turn]: { position: number }[] = await this.db.query('SELECT position FROM turns WHERE id = $1', [
        this.turnId,
      ]);
      this.ring.begin([turn?.position ?? 0, 0, 0]);
    } else {
      this.ring.begin(START);
      this.#append(frames);
    }
    return !hasMore;
  }

  #drainPending(): void {
    const pending = this.#pending.sort((a, b) => comparePositions(firstOf(a), firstOf(b)));
    this.#pending = [];
    for (const batch of pending) {
      if (comparePositions(lastOf(batch), this.ring.head) <= 0) continue;
      if (this.#pending.length === 0 && this.#joins(batch, true)) this.#append(framesOf(batch, batch.sentAt));
      else this.#pending.push(batch);
    }
  }

  /**
   * True if nothing is missing between the head and the batch. Before the first delta of a new attempt there may be
   * deltas of an earlier attempt, which are in the table by then: such a batch is accepted only right after a read.
   */
  #joins({ position, attempt, first }: LiveDeltas, wasRead: boolean): boolean {
    const { floor, head } = this.ring;
    if (floor === null || position !== head[0]) return false;
    if (attempt === head[1]) return first <= head[2] + 1;
    return first === 1 && attempt > head[1] && (wasRead || attempt === 1);
  }

  /** A live batch and a read may contain the same deltas: skip those up to the head. */
  #append(frames: Frame[]): void {
    const fresh = frames.filter((frame) => comparePositions(frame.position, this.ring.head) > 0);
    if (fresh.length === 0) return;
    this.ring.append(fresh);
    this.#notify();
  }

  #notify(): void {
    for (const notify of [...this.watchers]) notify();
  }
}

function firstOf({ position, attempt, first }: DeltaBatch): Position {
  return [position, attempt, first];
}

function lastOf({ position, attempt, first, runs }: DeltaBatch): Position {
  return [position, attempt, first + countDeltas(runs) - 1];
}

export function isTerminal(frame: Frame): boolean {
  return TERMINAL_EVENTS.has(frame.type);
}

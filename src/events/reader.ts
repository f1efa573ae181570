import type { DataSource } from 'typeorm';
import type { Logger } from '../platform/logger.js';
import { countDeltas, type DeltaBatch } from './delta-batch.js';
import { framesOf, framesOfEvents, readFrames, type Frame } from './frames.js';
import type { LiveEvents } from './notify.js';
import { comparePositions, START, type Position } from './position.js';
import type { FrameRing } from './ring.js';
import { TERMINAL_EVENTS } from './schema.js';

const GAP_RETRY_MS = 60;
const MAX_PENDING = 10_000;

type LiveDeltas = DeltaBatch & { sentAt: number };

/**
 * The end of one turn's sequence of frames, shared by all its watchers in this process. Live deltas are taken as they
 * come while they follow without a gap; missing ones are read from the tables. Frames older than the ring are read from
 * the tables by the watcher that needs them.
 */
export class TurnReader {
  /** Each is called when there may be more frames; the feed keeps them. */
  readonly watchers = new Set<() => void>();
  #pending: LiveDeltas[] = [];
  #catching: Promise<void> | null = null;
  #again = false;
  #gapTimer: NodeJS.Timeout | null = null;
  #closed = false;

  /** `listening` resolves when notifications of the turn arrive: the first read comes after it. */
  constructor(
    readonly turnId: string,
    readonly ring: FrameRing,
    private readonly listening: Promise<void>,
    private readonly db: DataSource,
    private readonly log: Logger,
  ) {
    this.catchUp();
  }

  /**
   * The frames after `position` that are there now, possibly none. In order and without a gap; a new call with the
   * last one's position goes on from there.
   */
  async after(position: Position): Promise<Frame[]> {
    if (this.ring.floor === null) await this.#catching;
    return this.ring.after(position) ?? (await readFrames(this.db, this.turnId, position, true)).frames;
  }

  /**
   * The tables hold frames up to `position`. These may be deltas too: a reader made while some were on their way to the
   * table has missed their notification.
   */
  storedUpTo(position: Position): void {
    if (this.ring.floor === null || comparePositions(position, this.ring.head) > 0) this.catchUp();
  }

  /** Events up to `position` were stored; `live` has them if they were short. */
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

  /** Deltas have arrived live. */
  takeLive(batch: LiveDeltas): void {
    if (this.#pending.length === 0 && this.#catching === null && this.#joins(batch, false)) {
      this.#append(framesOf(batch, batch.sentAt));
      return;
    }
    if (this.ring.floor !== null && comparePositions(lastOf(batch), this.ring.head) <= 0) return;
    this.#pending.push(batch);
    // The tables will have them.
    if (this.#pending.length > MAX_PENDING) this.#pending = [];
    this.catchUp();
  }

  /** Reads from the tables what follows the head. */
  catchUp(): void {
    if (this.#closed) return;
    if (this.#catching !== null) {
      this.#again = true;
      return;
    }
    this.#catching = this.#read()
      .catch((err: unknown) => this.log.warn({ err, turn_id: this.turnId }, 'a stream reader could not read on'))
      .finally(() => {
        this.#catching = null;
        if (this.#again) {
          this.#again = false;
          this.catchUp();
        } else if (this.#pending.length > 0 && !this.#closed) {
          // A gap is filled by the writer's next flush.
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
    this.#wake();
  }

  async #read(): Promise<void> {
    await this.listening;
    let isAtEnd = this.ring.floor === null && (await this.#begin());
    while (!isAtEnd) {
      const { frames, hasMore } = await readFrames(this.db, this.turnId, this.ring.head, true);
      this.#append(frames);
      isAtEnd = !hasMore;
    }
    this.#drainPending();
  }

  /**
   * A short turn is read whole. In a long one the reader begins behind the last stored event: each watcher reads the
   * frames before it on its own. Returns whether the reader is at the end.
   */
  async #begin(): Promise<boolean> {
    const { frames, hasMore } = await readFrames(this.db, this.turnId, START, true);
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
   * True when nothing is missing between the head and the batch. A later attempt's first delta may have an earlier
   * attempt's before it, which are in the table by then: it joins right after a read.
   */
  #joins({ position, attempt, first }: LiveDeltas, wasRead: boolean): boolean {
    const { floor, head } = this.ring;
    if (floor === null || position !== head[0]) return false;
    if (attempt === head[1]) return first <= head[2] + 1;
    return first === 1 && attempt > head[1] && (wasRead || attempt === 1);
  }

  /** A batch and a read may both bring the same deltas: those up to the head are skipped. */
  #append(frames: Frame[]): void {
    const fresh = frames.filter((frame) => comparePositions(frame.position, this.ring.head) > 0);
    if (fresh.length === 0) return;
    this.ring.append(fresh);
    this.#wake();
  }

  #wake(): void {
    for (const wake of [...this.watchers]) wake();
  }
}

function firstOf({ position, attempt, first }: DeltaBatch): Position {
  return [position, attempt, first];
}

function lastOf({ position, attempt, first, runs }: DeltaBatch): Position {
  return [position, attempt, first + countDeltas(runs) - 1];
}

/** True for the frame that closes a turn's stream. */
export function isTerminal(frame: Frame): boolean {
  return TERMINAL_EVENTS.has(frame.type);
}

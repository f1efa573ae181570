import type { LimitFunction } from 'p-limit';
import type { DataSource } from 'typeorm';
import type { Logger } from '../platform/logger.js';
import { countDeltas, type DeltaBatch } from './delta-batch.js';
import { framesOf, framesOfEvents, type Frame } from './frames.js';
import type { LiveEvents, TurnNotification } from './notify.js';
import type { OpenedTurn } from './opening.js';
import { comparePositions, START, type Position } from './position.js';
import { readFrames } from './read-frames.js';
import type { FrameRing } from './ring.js';
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
  readonly turnId: string;
  readonly sessionId: string;
  readonly number: number;

  /**
   * Begins with the frames of the stream that opens, if they are all there are; else at the last stored event, and watchers
   * read the earlier frames themselves. `limit` bounds the reads of all readers.
   */
  constructor(
    { turnId, sessionId, number, after, position, frames, hasMore }: OpenedTurn,
    readonly ring: FrameRing,
    private readonly limit: LimitFunction,
    private readonly db: DataSource,
    private readonly log: Logger,
  ) {
    this.turnId = turnId;
    this.sessionId = sessionId;
    this.number = number;
    ring.begin(hasMore ? [position, 0, 0] : after);
    if (hasMore) this.catchUp();
    else this.#append(frames);
  }

  /**
   * The available frames after `position`, possibly none, in order and without a gap. To continue, call it again with
   * the position of the last frame.
   */
  async after(position: Position): Promise<Frame[]> {
    return this.ring.after(position) ?? (await readFrames(this.db, this.turnId, position, true)).frames;
  }

  /** The turn, for a stream that reads it from its start. */
  get fromStart(): OpenedTurn {
    const { turnId, sessionId, number, ring } = this;
    const [position] = ring.head;
    const place = { sessionId, turnId, number, isOpen: true, after: START, position };
    return { kind: 'turn', ...place, frames: [], hasMore: true };
  }

  take(notification: TurnNotification): void {
    if (notification.kind === 'stored') this.takeStored(notification.position, notification.live);
    else this.takeLive(notification);
  }

  /**
   * The tables hold frames up to `position`, which may be a delta: a reader created while deltas were being stored has
   * missed their notification.
   */
  storedUpTo(position: Position): void {
    if (comparePositions(position, this.ring.head) > 0) this.catchUp();
  }

  /** Events up to `position` were stored. `live` contains them if they were short. */
  takeStored(position: number, live: LiveEvents | null): void {
    const isNext =
      live !== null &&
      this.#catching === null &&
      this.#pending.length === 0 &&
      comparePositions(live.after, this.ring.head) === 0;
    if (isNext) this.#append(framesOfEvents(live.events));
    else this.storedUpTo([position, 0, 0]);
  }

  takeLive(batch: LiveDeltas): void {
    if (this.#pending.length === 0 && this.#catching === null && this.#joins(batch, false)) {
      this.#append(framesOf(batch, batch.sentAt));
      return;
    }
    if (comparePositions(lastOf(batch), this.ring.head) <= 0) return;
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
    this.#catching = this.limit(() => this.#read())
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
    for (let hasMore = true; hasMore;) {
      const next = await readFrames(this.db, this.turnId, this.ring.head, true);
      this.#append(next.frames);
      ({ hasMore } = next);
    }
    this.#drainPending();
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
    const { head } = this.ring;
    if (position !== head[0]) return false;
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

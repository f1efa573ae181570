import type { DataSource } from 'typeorm';
import type { Logger } from '../platform/logger.js';
import { deltaJson, readFrames, type Frame } from './store.js';
import type { TurnNotification } from './notify.js';
import { comparePositions, START, type Position } from './position.js';
import { TERMINAL_EVENTS } from './schema.js';

const RING_CHARACTERS = 1_000_000;
const PAGE = 200;
const GAP_RETRY_MS = 60;
const MAX_PENDING = 10_000;

type LiveDelta = Extract<TurnNotification, { content: string }>;

/**
 * The end of one turn's sequence of frames, shared by all its watchers in this process. Live deltas are taken as they
 * come while they join on without a gap; what is missing is read from the tables. Older frames than the ring holds are
 * read from the tables by the watcher that wants them.
 */
export class TurnReader {
  /** Each is called when there may be more frames; the feed keeps them. */
  readonly watchers = new Set<() => void>();
  #ring: Frame[] = [];
  #ringCharacters = 0;
  /** Every frame after this position up to the head is in the ring; null until the first read. */
  #floor: Position | null = null;
  #head: Position = START;
  #pending: LiveDelta[] = [];
  #catching: Promise<void> | null = null;
  #again = false;
  #gapTimer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(
    readonly turnId: string,
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
    if (this.#floor === null) await this.#catching;
    if (this.#floor !== null && comparePositions(position, this.#floor) >= 0) return this.#fromRing(position);
    return readFrames(this.db, this.turnId, position, PAGE, true);
  }

  /**
   * The tables hold frames up to `position`. Deltas too can be news: a reader made while some were on their way to the
   * table has missed their notification.
   */
  reached(position: Position): void {
    if (this.#floor === null || comparePositions(position, this.#head) > 0) this.catchUp();
  }

  /** A delta has arrived live. */
  delta(delta: LiveDelta): void {
    if (this.#pending.length === 0 && this.#catching === null && this.#joins(delta, false)) {
      this.#append([frameOf(delta)]);
      return;
    }
    if (this.#floor !== null && comparePositions(delta.position, this.#head) <= 0) return;
    this.#pending.push(delta);
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
          // A gap is filled by the writer's next batch.
          this.#gapTimer ??= setTimeout(() => {
            this.#gapTimer = null;
            this.catchUp();
          }, GAP_RETRY_MS);
        }
      });
  }

  close(): void {
    this.#closed = true;
    if (this.#gapTimer !== null) clearTimeout(this.#gapTimer);
    this.#wake();
  }

  async #read(): Promise<void> {
    let isAtEnd = this.#floor === null && (await this.#begin());
    while (!isAtEnd) {
      const frames = await readFrames(this.db, this.turnId, this.#head, PAGE, true);
      // Deltas that arrived live meanwhile may be the same ones.
      this.#append(frames.filter((frame) => comparePositions(frame.position, this.#head) > 0));
      isAtEnd = frames.length < PAGE;
    }
    this.#drainPending();
  }

  /**
   * A short turn is read whole. In a long one the reader begins behind the last stored event: what is before belongs to
   * each watcher's own reading. Returns whether the reader is at the end.
   */
  async #begin(): Promise<boolean> {
    const frames = await readFrames(this.db, this.turnId, START, PAGE, true);
    const isWhole = frames.length < PAGE;
    if (isWhole) {
      this.#floor = START;
      this.#append(frames);
    } else {
      const [turn]: { position: number }[] = await this.db.query('SELECT position FROM turns WHERE id = $1', [
        this.turnId,
      ]);
      this.#head = [turn?.position ?? 0, 0, 0];
      this.#floor = this.#head;
    }
    return isWhole;
  }

  #drainPending(): void {
    const pending = this.#pending.sort((a, b) => comparePositions(a.position, b.position));
    this.#pending = [];
    for (const delta of pending) {
      if (comparePositions(delta.position, this.#head) <= 0) continue;
      if (this.#pending.length === 0 && this.#joins(delta, true)) this.#append([frameOf(delta)]);
      else this.#pending.push(delta);
    }
  }

  /**
   * True when the delta is certainly the next frame after the head. A later attempt's first delta may have an earlier
   * attempt's before it, which stand in the table by then: it joins right after a look there.
   */
  #joins({ position: [stored, attempt, number] }: LiveDelta, tableRead: boolean): boolean {
    if (this.#floor === null || stored !== this.#head[0]) return false;
    if (attempt === this.#head[1]) return number === this.#head[2] + 1;
    return number === 1 && attempt > this.#head[1] && (tableRead || attempt === 1);
  }

  #append(frames: Frame[]): void {
    if (frames.length === 0) return;
    for (const frame of frames) {
      this.#ring.push(frame);
      this.#ringCharacters += frame.json.length;
    }
    this.#head = frames.at(-1)!.position;
    let dropped = 0;
    while (this.#ringCharacters > RING_CHARACTERS && dropped < this.#ring.length - 1) {
      this.#ringCharacters -= this.#ring[dropped]!.json.length;
      dropped += 1;
    }
    if (dropped > 0) this.#floor = this.#ring.splice(0, dropped).at(-1)!.position;
    this.#wake();
  }

  #fromRing(position: Position): Frame[] {
    let start = this.#ring.length;
    while (start > 0 && comparePositions(this.#ring[start - 1]!.position, position) > 0) start -= 1;
    return start === this.#ring.length ? [] : this.#ring.slice(start);
  }

  #wake(): void {
    for (const wake of [...this.watchers]) wake();
  }
}

function frameOf(delta: LiveDelta): Frame {
  return {
    position: delta.position,
    type: delta.type,
    json: deltaJson(delta.type, delta.turnId, delta.messageId, delta.content),
    writtenAt: delta.sentAt,
  };
}

/** True for the frame that closes a turn's stream. */
export function isTerminal(frame: Frame): boolean {
  return TERMINAL_EVENTS.has(frame.type);
}

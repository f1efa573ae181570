import type { Database } from '../db/db.js';
import { unlessLate } from '../platform/limited-wait.js';
import type { Logger } from '../platform/logger.js';
import type { Frame } from './frames.js';
import { liveFrames, sortNotifications } from './live-frames.js';
import type { TurnNotification } from './notify.js';
import { comparePositions, type StreamPlace } from './position.js';
import { placeAfter, placeOf, readNext, type NextFrames } from './read-next.js';
import type { FrameRing } from './ring.js';

const GAP_RETRY_MS = 60;
/** How long a stream waits for LISTEN before it reads. Without notifications, the feed's poll finds what it misses. */
const LISTEN_TIMEOUT_MS = 1000;
const MAX_WAITING = 1000;
/**
 * The streams of a session get its deltas together, at this interval for each of them: what a write to each takes then stays a small
 * share of the time, however many there are. A few streams do not wait.
 */
const INTERVAL_PER_STREAM_MS = 0.2;
const MAX_INTERVAL_MS = 50;

/**
 * The latest frames of one session, shared by all its streams in this process. A stream joins before it reads the tables, so
 * nothing is lost between its read and the notifications. Notifications are accepted while they follow without a gap; missing
 * frames are read from the tables. A stream that needs frames older than the ring reads the tables itself.
 */
export class SessionReader {
  /** Callbacks of the streams, called when there may be new frames. The feed maintains them. */
  readonly watchers = new Set<() => void>();
  /** The place after the newest frame of the ring. Null until a stream has found the open turn, or that all have ended. */
  #head: StreamPlace | null = null;
  /** The turn before the one at the head. */
  #turnBefore: string | null = null;
  /** When the reader came to its turn. */
  #turnSince = 0;
  #waiting: TurnNotification[] = [];
  #isReading = false;
  #gapTimer: NodeJS.Timeout | null = null;
  #notifiedAt = 0;
  #notifyTimer: NodeJS.Timeout | null = null;
  #isClosed = false;

  /** `listening` resolves when the session's notifications arrive; `inTurn` bounds the reads of all readers. */
  constructor(
    readonly sessionId: string,
    private readonly listening: Promise<void>,
    private readonly ring: FrameRing,
    private readonly inTurn: <T>(read: () => Promise<T>) => Promise<T>,
    private readonly db: Database,
    private readonly log: Logger,
  ) {}

  get head(): StreamPlace | null {
    return this.#head;
  }

  get turnSince(): number {
    return this.#turnSince;
  }

  /**
   * Reads where a stream begins, and its first frames unless the ring may have them. Returns null if the project has no such
   * session.
   */
  async open(projectId: string, lastEventId: string, isOfSession: boolean): Promise<NextFrames | null> {
    const place = placeOf({ projectId, sessionId: this.sessionId }, lastEventId);
    await unlessLate(this.listening, LISTEN_TIMEOUT_MS, () => undefined);
    return this.inTurn(async () => {
      const next = await readNext(this.db, place, { isOfSession, withFrames: this.#head === null });
      if (next !== null) this.#begin(next);
      return next;
    });
  }

  /** The ring's frames after a place, possibly none, all of one turn; null if it lacks some of them or the session is deleted. */
  inRing({ at, isLive }: StreamPlace): Frame[] | null {
    return isLive && !this.#isClosed ? this.ring.after(at) : null;
  }

  /**
   * The frames after a place, possibly none, in order and without a gap, and the place after them; null if the session is deleted.
   */
  async after(place: StreamPlace): Promise<Pick<NextFrames, 'frames' | 'to'> | null> {
    if (this.#isClosed) return null;
    const frames = this.inRing(place);
    if (frames !== null) return { frames, to: placeAfter(place, frames) };
    const next = await readNext(this.db, place, { isOfSession: true, withFrames: true });
    if (next !== null) this.#begin(next);
    return next;
  }

  take(notification: TurnNotification): void {
    const isNext = this.#head !== null && !this.#isReading && this.#waiting.length === 0;
    if (isNext && this.#accept(notification, false)) return;
    this.#waiting.push(notification);
    // Their frames will be in the tables.
    if (this.#waiting.length > MAX_WAITING) this.#waiting = [notification];
    if (this.#gapTimer === null || notification.kind === 'stored') this.catchUp();
  }

  /** Reads the frames after the head from the tables. */
  catchUp(): void {
    if (this.#isReading || this.#isClosed || this.#head === null) return;
    clearTimeout(this.#gapTimer ?? undefined);
    this.#gapTimer = null;
    this.#isReading = true;
    void this.inTurn(() => this.#read()).catch((err: unknown) => {
      this.log.warn({ err, session_id: this.sessionId }, 'a stream reader could not read on');
      if (this.#waiting.length > 0) this.#catchUpLater();
    });
  }

  /** Between turns, streams need no frames: those that have not sent the last ones read the tables. */
  trim(): void {
    if (this.#head?.isOver === true) this.ring.shrink(0);
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
    this.ring.clear();
    clearTimeout(this.#gapTimer ?? undefined);
    this.#notify();
  }

  /** Begins with what a stream has read, unless the reader has begun or the stream has to read further turns. */
  #begin({ from, frames, to, hasMore, open }: NextFrames): void {
    if (this.#head !== null || (open === null && hasMore)) return;
    const [turn, , call] = from.at;
    // Not all frames are read, or a client names a delta that may not exist. The stream reads up to there itself.
    const isUnsure = open !== null && (hasMore || (frames.length === 0 && call > 0));
    const place = open === null ? to : isUnsure ? { ...from, at: [turn, open.stored, 0, 0] as const } : from;
    this.ring.begin(place.at);
    this.#moveTo(place);
    if (isUnsure) return this.catchUp();
    this.#append(frames);
    this.#acceptWaiting();
  }

  async #read(): Promise<void> {
    // This read finds the events that were notified before it. Deltas may be stored a moment later.
    this.#waiting = this.#waiting.filter(({ kind }) => kind === 'deltas');
    const before = new Set(this.#waiting);
    try {
      for (let hasMore = true; hasMore && !this.#isClosed;) {
        const next = await readNext(this.db, this.#head!, { isOfSession: true, withFrames: true });
        if (next === null) return this.close();
        this.#append(next.frames);
        this.#moveTo(next.to);
        hasMore = next.hasMore && next.frames.length > 0;
      }
    } finally {
      this.#isReading = false;
    }
    this.#waiting = this.#waiting.filter((one) => !before.has(one) || one.turnId === this.#head!.turnId);
    this.#acceptWaiting();
  }

  /** Accepts what follows the head. The tables have just been read. */
  #acceptWaiting(): void {
    const waiting = sortNotifications(this.#waiting, this.#head!);
    this.#waiting = [];
    for (const one of waiting) if (this.#waiting.length > 0 || !this.#accept(one, true)) this.#waiting.push(one);
    if (this.#waiting.length === 0) return;
    const isGap = this.#waiting.every(({ kind, turnId }) => kind === 'deltas' && turnId === this.#head!.turnId);
    // The writer's next flush fills a gap.
    if (isGap) this.#catchUpLater();
    else this.catchUp();
  }

  #catchUpLater(): void {
    this.#gapTimer ??= setTimeout(() => this.catchUp(), GAP_RETRY_MS);
  }

  /** Appends the frames of a notification. Returns false if they must be read from the tables. */
  #accept(one: TurnNotification, wasRead: boolean): boolean {
    // The process that stores the end of a turn is notified of it twice.
    const frames = one.turnId === this.#turnBefore ? [] : liveFrames(this.#head!, one, wasRead);
    if (frames !== null) this.#append(frames);
    return frames !== null;
  }

  /** A notification and a read may contain the same frames: skip those up to the head. */
  #append(frames: Frame[]): void {
    const fresh = frames.filter((frame) => comparePositions(frame.position, this.#head!.at) > 0);
    if (fresh.length === 0) return;
    this.ring.append(fresh);
    this.#moveTo(placeAfter(this.#head!, fresh));
    // Events and the first delta of a message do not wait, and take with them what has gathered.
    if (fresh.every(({ position: [, , , delta] }) => delta > 1)) this.#notifyLater();
    else this.#notify();
  }

  #moveTo(place: StreamPlace): void {
    if (place.turnId !== this.#head?.turnId) {
      this.#turnBefore = this.#head?.turnId ?? null;
      this.#turnSince = performance.now();
    }
    this.#head = place;
  }

  #notifyLater(): void {
    const wait = this.#notifiedAt + intervalOf(this.watchers.size) - performance.now();
    if (wait <= 0) this.#notify();
    else this.#notifyTimer ??= setTimeout(() => this.#notify(), wait);
  }

  #notify(): void {
    clearTimeout(this.#notifyTimer ?? undefined);
    this.#notifyTimer = null;
    this.#notifiedAt = performance.now();
    for (const notify of this.watchers) notify();
  }
}

function intervalOf(streams: number): number {
  return Math.min(MAX_INTERVAL_MS, streams * INTERVAL_PER_STREAM_MS);
}

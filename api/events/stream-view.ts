import { streamLagSeconds } from '../../src/platform/metrics.js';
import type { Feed } from '../../src/stream/feed.js';
import type { Frame } from '../../src/stream/frames.js';
import type { StreamPlace } from '../../src/stream/position.js';
import type { SessionReader } from '../../src/stream/reader.js';
import { placeAfter, type NextFrames } from '../../src/stream/read-next.js';
import type { OpenStream } from './open-streams.js';
import { portionsOf } from './portions.js';

/** A client's view of a session: one turn to its end, or every turn from one on. Call `close` when done. */
export class StreamView {
  /** The place after the last frame written to the connection. */
  #at: StreamPlace | null = null;
  readonly #reader: SessionReader;
  #isWaiting = false;
  #stopWaiting = (): void => undefined;

  constructor(
    private readonly feed: Feed,
    sessionId: string,
    private readonly stream: OpenStream,
    private readonly isOfSession: boolean,
  ) {
    this.#reader = feed.join(sessionId, stream.owner.projectId, this.#notify);
    stream.signal.addEventListener('abort', this.#resume);
  }

  get at(): StreamPlace | null {
    return this.#at;
  }

  close(): void {
    this.stream.signal.removeEventListener('abort', this.#resume);
    this.feed.leave(this.#reader, this.#notify);
  }

  /** Reads where the view begins. Returns null if the project has no such session. */
  open(projectId: string, lastEventId: string): Promise<NextFrames | null> {
    return this.#reader.open(projectId, lastEventId, this.isOfSession);
  }

  /** Sends the frames of `open` and all that follow, until the turn ends, the session is deleted or the stream ends. */
  async push(next: Pick<NextFrames, 'frames' | 'to'> | null): Promise<void> {
    const { signal } = this.stream;
    let isUpToDate = false;
    while (next !== null && !signal.aborted) {
      await this.#send(next);
      if (isUpToDate) next.frames.forEach(observeLag);
      if (next.to.isOver && !this.isOfSession) return;
      const changed = new Promise<void>((resolve) => (this.#stopWaiting = resolve));
      next = await this.#reader.after(next.to);
      if (next === null || next.frames.length > 0 || signal.aborted) continue;
      isUpToDate = true;
      this.#at = next.to;
      this.#isWaiting = true;
      await changed;
      next = { frames: [], to: this.#at };
    }
  }

  readonly #notify = (): void => {
    if (!this.#isWaiting || !this.#sendNow()) this.#resume();
  };

  readonly #resume = (): void => {
    this.#isWaiting = false;
    this.#stopWaiting();
  };

  /**
   * Writes the frames that the reader has just taken, while `push` waits: most deltas, for which a round of its loop would cost
   * several promises for each client. Returns false if the loop must send them.
   */
  #sendNow(): boolean {
    const frames = this.#reader.inRing(this.#at!);
    if (frames === null) return false;
    const last = frames.at(-1);
    if (last === undefined) return true;
    const portions = portionsOf(frames);
    const to = placeAfter(this.#at!, frames);
    if (portions.length > 1 || to.at !== this.#reader.head!.at || (to.isOver && !this.isOfSession)) return false;
    if (!this.stream.connection!.sendNow(portions[0]!.bytes)) return false;
    this.#at = to;
    frames.forEach(observeLag);
    return true;
  }

  /** Writes frames in as few writes as possible. */
  async #send({ frames, to }: Pick<NextFrames, 'frames' | 'to'>): Promise<void> {
    const { connection, signal } = this.stream;
    for (const { last, bytes } of portionsOf(frames)) {
      if (signal.aborted) return;
      this.#at = { ...to, at: last.position };
      await connection!.send(bytes);
    }
    this.#at = to;
  }
}

/** Clocks of two machines differ a little: a negative delay counts as zero. */
function observeLag({ type, writtenAt }: Frame): void {
  if (writtenAt === undefined) return;
  const kind = type.endsWith('.delta') ? 'delta' : 'event';
  streamLagSeconds.observe({ kind }, Math.max(0, Date.now() - writtenAt) / 1000);
}

import { bytesOfFrame, isRetry, isTerminal, MAX_BATCH_BYTES, type Frame } from './frames.js';
import { comparePositions, START, type Position } from './position.js';
import { MIB } from '../platform/units.js';

export const MAX_RING_BYTES = MIB;

/** Limits the total bytes of all rings in a process. Beyond the limit, every ring drops its older half. */
export class RingMemory {
  readonly #rings = new Set<FrameRing>();
  #used = 0;

  constructor(private readonly maxBytes = 64 * MIB) {}

  get used(): number {
    return this.#used;
  }

  createRing(): FrameRing {
    const ring: FrameRing = new FrameRing(
      (bytes) => this.#add(bytes),
      () => this.#rings.delete(ring),
    );
    this.#rings.add(ring);
    return ring;
  }

  #add(bytes: number): void {
    this.#used += bytes;
    if (bytes <= 0 || this.#used <= this.maxBytes) return;
    for (const ring of this.#rings) ring.shrink(ring.bytes / 2);
  }
}

/** The latest frames of a session: every frame after `floor` up to `head`; empty while `floor` is null. */
export class FrameRing {
  #frames: Frame[] = [];
  #bytes = 0;
  #floor: Position | null = null;
  #head: Position = START;
  /** Cache: watchers at the same position share one array of frames. */
  #latest: { after: Position; frames: Frame[] } | null = null;

  constructor(
    private readonly count: (bytes: number) => void,
    private readonly forget: () => void,
  ) {}

  get floor(): Position | null {
    return this.#floor;
  }

  get head(): Position {
    return this.#head;
  }

  get bytes(): number {
    return this.#bytes;
  }

  begin(position: Position): void {
    this.#floor = position;
    this.#head = position;
  }

  append(frames: Frame[]): void {
    if (frames.some(isRetry)) this.#dropRetries();
    const bytes = bytesOfFrames(frames);
    this.#frames.push(...frames);
    this.#head = frames.at(-1)!.position;
    this.#latest = null;
    this.#bytes += bytes;
    if (this.#bytes > MAX_RING_BYTES) this.shrink(MAX_RING_BYTES);
    this.count(bytes);
  }

  /** The next frames after `position`, at most a batch and of one turn; null if the ring has dropped some of them. */
  after(position: Position): Frame[] | null {
    if (this.#floor === null || comparePositions(position, this.#floor) < 0) return null;
    if (this.#latest !== null && comparePositions(this.#latest.after, position) === 0) return this.#latest.frames;
    let start = this.#frames.length;
    while (start > 0 && comparePositions(this.#frames[start - 1]!.position, position) > 0) start -= 1;
    let end = start;
    for (let bytes = 0; end < this.#frames.length && bytes < MAX_BATCH_BYTES; end += 1) {
      if (end > start && isTerminal(this.#frames[end - 1]!)) break;
      bytes += bytesOfFrame(this.#frames[end]!);
    }
    const frames = this.#frames.slice(start, end);
    this.#latest = { after: position, frames };
    return frames;
  }

  /** Drops the oldest frames until at most `bytes` remain. The newest frame is always kept. */
  shrink(bytes: number): void {
    let dropped = 0;
    const before = this.#bytes;
    while (this.#bytes > bytes && dropped < this.#frames.length - 1) {
      this.#bytes -= bytesOfFrames([this.#frames[dropped]!]);
      dropped += 1;
    }
    if (dropped === 0) return;
    this.#floor = this.#frames.splice(0, dropped).at(-1)!.position;
    this.#latest = null;
    this.count(this.#bytes - before);
  }

  /** The notice of a newer retry is about to come. */
  #dropRetries(): void {
    const kept = this.#frames.filter((frame) => !isRetry(frame));
    const dropped = bytesOfFrames(this.#frames) - bytesOfFrames(kept);
    this.#frames = kept;
    this.#bytes -= dropped;
    this.count(-dropped);
  }

  clear(): void {
    this.#frames = [];
    this.#latest = null;
    this.count(-this.#bytes);
    this.#bytes = 0;
    this.forget();
  }
}

function bytesOfFrames(frames: Frame[]): number {
  return frames.reduce((bytes, frame) => bytes + bytesOfFrame(frame), 0);
}

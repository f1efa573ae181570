import type { Frame } from '../../src/events/frames.js';

/** About what a socket takes at once. */
const MAX_BYTES = 64 * 1024;

/** Frames that go out in one write. */
export interface Portion {
  frames: Frame[];
  last: Frame;
  bytes: Buffer;
}

/** Watchers that are equally far get the same array of frames from their reader: it is joined once. */
const joined = new WeakMap<Frame[], Portion[]>();

export function portionsOf(frames: Frame[]): Portion[] {
  let portions = joined.get(frames);
  if (portions === undefined) {
    portions = [...split(frames)];
    joined.set(frames, portions);
  }
  return portions;
}

function* split(frames: Frame[]): Generator<Portion> {
  let start = 0;
  let bytes = 0;
  for (const [index, frame] of frames.entries()) {
    bytes += frame.bytes.length;
    if (bytes < MAX_BYTES && index < frames.length - 1) continue;
    const some = frames.slice(start, index + 1);
    yield { frames: some, last: frame, bytes: some.length === 1 ? frame.bytes : joinFrames(some) };
    start = index + 1;
    bytes = 0;
  }
}

function joinFrames(frames: Frame[]): Buffer {
  return Buffer.concat(frames.map((frame) => frame.bytes));
}

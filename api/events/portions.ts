import { createEventBuffer } from 'better-sse';
import type { Frame } from '../../src/stream/frames.js';

/** About the amount that a socket accepts at once. */
const MAX_CHARACTERS = 64 * 1024;

/** better-sse writes `name:value`, but the interface has `name: value`. A frame's data is JSON already. */
export const WIRE_FORMAT = {
  serializer: (json: unknown) => json as string,
  sanitizer: (value: string) => ` ${value}`,
};

/** The frames of one write. */
interface Portion {
  last: Frame;
  /** All watchers write the same bytes. */
  bytes: Buffer;
}

/** Watchers at the same position get the same array of frames from their reader, so it is serialised once. */
const made = new WeakMap<Frame[], Portion[]>();

export function portionsOf(frames: Frame[]): Portion[] {
  let portions = made.get(frames);
  if (portions === undefined) {
    portions = [...split(frames)];
    made.set(frames, portions);
  }
  return portions;
}

function* split(frames: Frame[]): Generator<Portion> {
  let wire = createEventBuffer(WIRE_FORMAT);
  let characters = 0;
  for (const [index, last] of frames.entries()) {
    wire.push(last.json, last.type, last.id);
    characters += last.json.length;
    if (characters < MAX_CHARACTERS && index < frames.length - 1) continue;
    yield { last, bytes: Buffer.from(wire.read()) };
    wire = createEventBuffer(WIRE_FORMAT);
    characters = 0;
  }
}

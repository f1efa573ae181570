import { streamLagSeconds } from '../../src/platform/metrics.js';
import type { Frame } from '../../src/stream/frames.js';
import type { OpenedTurn } from '../../src/stream/opening.js';
import type { Position } from '../../src/stream/position.js';
import { readFrames } from '../../src/stream/read-frames.js';
import { isTerminal, type TurnReader } from '../../src/stream/reader.js';
import type { SessionOpening } from '../../src/stream/session-opening.js';
import type { ApiDeps } from '../deps.js';
import type { OpenStream } from './open-streams.js';
import { portionsOf } from './portions.js';

/** The turn that a stream sends, and the last frame written to the connection. */
export interface Progress {
  turnId: string;
  position: Position;
}

/** Sends a turn to its end, or until the stream ends. */
export async function pushTurn(
  deps: ApiDeps,
  turn: OpenedTurn,
  opening: SessionOpening,
  at: Progress,
  stream: OpenStream,
): Promise<void> {
  at.turnId = turn.turnId;
  at.position = turn.after;
  if (turn.isOpen) return pushLive(deps, turn, opening, at, stream);
  deps.feed.closeOpening(opening);
  await send(turn.frames, at, stream);
  if (turn.hasMore) await pushStored(deps, at, stream);
}

/** Streams a running turn. All its watchers share one reader. */
async function pushLive(
  { feed }: ApiDeps,
  turn: OpenedTurn,
  opening: SessionOpening,
  at: Progress,
  stream: OpenStream,
): Promise<void> {
  const { signal } = stream;
  let isWaiting = false;
  let resolve = (): void => undefined;
  const resume = (): void => {
    isWaiting = false;
    resolve();
  };
  const notify = (): void => {
    if (!isWaiting || !sendNow(reader, at, stream)) resume();
  };
  const reader = feed.watch(turn, opening, notify);
  signal.addEventListener('abort', resume);
  let upToDate = false;
  try {
    await send(turn.frames, at, stream);
    while (!signal.aborted) {
      const changed = new Promise<void>((done) => (resolve = done));
      const frames = await reader.after(at.position);
      const last = await send(frames, at, stream);
      if (last !== null && isTerminal(last)) return;
      if (upToDate) frames.forEach(observeLag);
      if (frames.length > 0) continue;
      upToDate = true;
      isWaiting = true;
      await changed;
      isWaiting = false;
    }
  } finally {
    signal.removeEventListener('abort', resume);
    feed.release(reader, notify);
  }
}

/**
 * Writes the frames that a reader has just taken to a watcher that waits for them: most deltas, for which a round of the loop in
 * `pushLive` would cost several promises for each watcher. Returns false if the loop must send them.
 */
function sendNow({ ring }: TurnReader, at: Progress, { connection }: OpenStream): boolean {
  const frames = ring.after(at.position);
  if (frames === null) return false;
  const last = frames.at(-1);
  if (last === undefined) return true;
  const portions = portionsOf(frames);
  if (portions.length > 1 || last.position !== ring.head || isTerminal(last)) return false;
  if (!connection!.sendNow(portions[0]!.bytes)) return false;
  at.position = last.position;
  frames.forEach(observeLag);
  return true;
}

/** Writes frames in as few writes as possible. Returns the last frame. */
async function send(frames: Frame[], at: Progress, { connection, signal }: OpenStream): Promise<Frame | null> {
  for (const portion of portionsOf(frames)) {
    if (signal.aborted) break;
    at.position = portion.last.position;
    await connection!.send(portion.bytes);
  }
  return frames.at(-1) ?? null;
}

/** Clocks of two machines differ a little: a negative delay counts as zero. */
function observeLag({ type, writtenAt }: Frame): void {
  if (writtenAt === undefined) return;
  const kind = type.endsWith('.delta') ? 'delta' : 'event';
  streamLagSeconds.observe({ kind }, Math.max(0, Date.now() - writtenAt) / 1000);
}

/** Sends the stored events of a turn that has ended (contract.md §3 "Stream resume during a turn"). */
async function pushStored({ db }: ApiDeps, at: Progress, stream: OpenStream): Promise<void> {
  while (!stream.signal.aborted) {
    const { frames, hasMore } = await readFrames(db, at.turnId, at.position, false);
    await send(frames, at, stream);
    if (!hasMore) return;
  }
}

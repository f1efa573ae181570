import { countPendingCharacters, type Frame } from '../../src/stream/frames.js';
import type { OpenedTurn } from '../../src/stream/opening.js';
import { START, type Position } from '../../src/stream/position.js';
import { readFrames } from '../../src/stream/read-frames.js';
import { isTerminal, type TurnReader } from '../../src/stream/reader.js';
import type { SessionOpening } from '../../src/stream/session-opening.js';
import { streamLagSeconds } from '../../src/platform/metrics.js';
import type { ApiDeps } from '../deps.js';
import { frameSchema } from '../../src/events/stream-schema.js';
import { operation } from '../http/core/operation.js';
import { sessionNotFound, sessionStateOfPath } from '../http/core/session-of-path.js';
import type { OpenStream } from './open-streams.js';
import { portionsOf } from './portions.js';
import { SseConnection } from './sse-connection.js';

const EXAMPLE = `event: agent.message.delta
id: turn_01kag8z0d4k7q2r9t5y8h3j6m1:3.1.1
data: {"type":"agent.message.delta","turn_id":"turn_01kag8z0d4k7q2r9t5y8h3j6m1","message_id":"msg_01kag8z1q2w3e4r5t6y7u8i9p0","content":"Two orders"}

`;
const RETRY_MS = 2000;
/** Sent after the last event: EventSource reconnects after every end, and then need not hurry. */
const RETRY_AFTER_END_MS = 15_000;

/** Events of the current turn as Server-Sent Events. Replay, live events and resuming form one ordered sequence. */
export const streamEvents = operation({
  id: 'streamEvents',
  summary: 'Stream the events of the current turn (Server-Sent Events)',
  description:
    'Follows the open turn, or else replays the last one, from its first event to its terminal event; then the stream ends. Each frame has `id: <turn_id>:<position>`, `event:` with the type, and `data:` with a `StreamEvent` as JSON. Text comes as `.delta` frames while the model writes it. Comments `: ping` keep the connection alive. To go on after a break, send the last id as `Last-Event-ID`: nothing is missing and nothing comes twice.',
  headers: { 'Last-Event-ID': 'The id of the last frame that you received: the stream continues after it.' },
  success: {
    status: 200,
    description: 'Frames up to the turn’s terminal event. The schema describes one frame.',
    mediaType: 'text/event-stream',
    schema: frameSchema,
    example: EXAMPLE,
  },
  errors: ['session_not_found', 'too_many_streams'],
  // The statement that opens the stream finds the session.
  requireResource: sessionStateOfPath,
  async handle({ deps, caller, params, ctx }) {
    await deps.streams.run(caller, ctx.res, async (stream) => {
      const opening = deps.feed.open(params.session_id!);
      const wake = (): void => opening.wake();
      stream.signal.addEventListener('abort', wake);
      try {
        const place = { projectId: caller.projectId, lastEventId: ctx.get('Last-Event-ID'), hasWaited: false };
        const { start, changed } = await deps.feed.readOpening(opening, place);
        if (start === null) sessionNotFound();
        const at = { turnId: '', position: START };
        const countWaiting = (): Promise<number> => countPendingCharacters(deps.db, at.turnId, at.position);
        const retryMs = start.kind === 'over' ? RETRY_AFTER_END_MS : RETRY_MS;
        const connection = await SseConnection.open(ctx, retryMs, stream.signal, countWaiting);
        stream.connection = connection;
        try {
          const turn =
            start.kind === 'wait' ? await firstTurn(deps, caller.projectId, opening, changed, stream) : start;
          if (turn?.kind === 'turn') await push(deps, turn, opening, at, stream);
        } finally {
          connection.end();
        }
      } finally {
        stream.signal.removeEventListener('abort', wake);
        deps.feed.closeOpening(opening);
      }
    });
  },
});

/** The turn that a stream sends, and the last frame written to the connection. */
interface Progress {
  turnId: string;
  position: Position;
}

/** Waits for the first turn of a session; null if the session is deleted or the stream ends. */
async function firstTurn(
  { feed }: ApiDeps,
  projectId: string,
  opening: SessionOpening,
  changed: Promise<void>,
  { signal }: OpenStream,
): Promise<OpenedTurn | null> {
  for (let next = changed; !signal.aborted;) {
    await next;
    const { start, changed: nextChange } = await feed.readOpening(opening, {
      ...{ projectId, lastEventId: '', hasWaited: true },
    });
    if (start?.kind !== 'wait') return start?.kind === 'turn' ? start : null;
    next = nextChange;
  }
  return null;
}

async function push(
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

import { countPendingCharacters, readFrames, type Frame } from '../../src/stream/frames.js';
import { START, type Position } from '../../src/stream/position.js';
import { isTerminal } from '../../src/stream/reader.js';
import { streamLagSeconds } from '../../src/platform/metrics.js';
import { findSessionState, type SessionState } from '../../src/sessions/store.js';
import type { ApiDeps } from '../deps.js';
import { frameSchema } from '../../src/events/schema.js';
import { operation } from '../http/core/operation.js';
import { sessionStateOfPath } from '../http/core/session-of-path.js';
import type { OpenStream } from './open-streams.js';
import { portionsOf } from './portions.js';
import { SseConnection } from './sse-connection.js';
import { startingPoint, type StreamPlace, type StartingPoint } from './starting-point.js';

const RETRY_MS = 2000;
/** Sent after the last event: EventSource reconnects after every end, and then need not hurry. */
const RETRY_AFTER_END_MS = 15_000;

/** Events of the current turn as Server-Sent Events. Replay, live events and resuming form one ordered sequence. */
export const streamEvents = operation<undefined, SessionState>({
  id: 'streamEvents',
  summary: 'Stream the events of the current turn (Server-Sent Events)',
  headers: { 'Last-Event-ID': 'The id of the last frame that you received: the stream continues after it.' },
  success: {
    status: 200,
    description: 'Frames up to the turn’s terminal event. The schema describes one frame.',
    mediaType: 'text/event-stream',
    schema: frameSchema,
  },
  errors: ['session_not_found', 'too_many_streams'],
  resource: sessionStateOfPath,
  async handle({ deps, caller, resource: session, ctx }) {
    await deps.streams.run(caller, ctx.res, async (stream) => {
      const start = await startingPoint(deps.db, session, ctx.get('Last-Event-ID'));
      const at = { turnId: '', position: START };
      const countWaiting = (): Promise<number> => countPendingCharacters(deps.db, at.turnId, at.position);
      const retryMs = start.kind === 'over' ? RETRY_AFTER_END_MS : RETRY_MS;
      const connection = await SseConnection.open(ctx, retryMs, stream.signal, countWaiting);
      stream.connection = connection;
      try {
        await push(deps, session, start, at, stream);
      } finally {
        connection.end();
      }
    });
  },
});

/** The turn that a stream sends, and the last frame written to the connection. */
interface Progress {
  turnId: string;
  position: Position;
}

async function push(
  deps: ApiDeps,
  session: SessionState,
  start: StartingPoint,
  at: Progress,
  stream: OpenStream,
): Promise<void> {
  if (start.kind === 'over') return;
  const from = start.kind === 'turn' ? start : await firstTurn(deps, session, stream.signal);
  if (from === null) return;
  at.turnId = from.turnId;
  at.position = from.position;
  await (from.open ? pushLive(deps, at, stream) : pushStored(deps, at, stream));
}

/** Waits for the first turn of a session; null if the session is deleted or the stream ends. */
async function firstTurn(
  { db, feed }: ApiDeps,
  session: SessionState,
  signal: AbortSignal,
): Promise<StreamPlace | null> {
  while (!signal.aborted) {
    const { changed } = await feed.awaitTurn(session.id, signal);
    const now = await findSessionState(db, session.project_id, session.id);
    if (now === null) return null;
    const start = await startingPoint(db, now, '');
    if (start.kind === 'turn') return start;
    await changed;
  }
  return null;
}

/** Streams a running turn. All its watchers share one reader. */
async function pushLive({ feed }: ApiDeps, at: Progress, stream: OpenStream): Promise<void> {
  const { signal } = stream;
  let resume = (): void => undefined;
  const wake = (): void => resume();
  const reader = feed.watch(at.turnId, wake);
  signal.addEventListener('abort', wake);
  let upToDate = false;
  try {
    while (!signal.aborted) {
      const changed = new Promise<void>((resolve) => (resume = resolve));
      const frames = await reader.after(at.position);
      const last = await send(frames, at, stream);
      if (last !== null && isTerminal(last)) return;
      if (upToDate) frames.forEach(observeLag);
      if (frames.length > 0) continue;
      upToDate = true;
      await changed;
    }
  } finally {
    signal.removeEventListener('abort', wake);
    feed.release(reader, wake);
  }
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

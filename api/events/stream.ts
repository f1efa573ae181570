import { pendingCharacters, readFrames, type Frame } from '../../src/events/store.js';
import { START, type Position } from '../../src/events/position.js';
import { isTerminal } from '../../src/events/reader.js';
import { streamLagSeconds } from '../../src/platform/metrics.js';
import { findSession, type Session } from '../../src/sessions/store.js';
import type { ApiDeps } from '../deps.js';
import { frameSchema } from '../../src/events/schema.js';
import { operation } from '../http/operation.js';
import { sessionOfPath } from '../http/session-of-path.js';
import { SseConnection } from './sse-connection.js';
import { startingPoint, type PlaceInTurn, type StartingPoint } from './starting-point.js';

const RETRY_MS = 2000;
/** An EventSource reconnects after every end: after the last event it need not hurry. */
const RETRY_AFTER_END_MS = 15_000;
const PAGE = 200;
const MAX_AT_ONCE = 64 * 1024;

/** Events of the current turn as Server-Sent Events: replay, live and resume are one ordered sequence. */
export const streamEvents = operation<undefined, Session>({
  id: 'streamEvents',
  summary: 'Stream the events of the current turn (Server-Sent Events)',
  headers: { 'Last-Event-ID': 'The id of the last frame received: the stream goes on after it.' },
  success: {
    status: 200,
    description: 'Frames until the turn’s terminal event. The schema describes one frame.',
    mediaType: 'text/event-stream',
    schema: frameSchema,
  },
  errors: ['session_not_found'],
  resource: sessionOfPath,
  async handle({ deps, caller, resource: session, ctx }) {
    const start = await startingPoint(deps.db, session, ctx.get('Last-Event-ID'));
    await deps.streams.run(caller.keyId, async (drained) => {
      const at = { turnId: '', position: START };
      const pending = (): Promise<number> => pendingCharacters(deps.db, at.turnId, at.position);
      const connection = await SseConnection.open(ctx, start.kind === 'over' ? RETRY_AFTER_END_MS : RETRY_MS, pending);
      const gone = new AbortController();
      ctx.res.once('close', () => gone.abort());
      if (ctx.res.closed) gone.abort();
      try {
        await push(deps, session, start, connection, at, AbortSignal.any([drained, gone.signal]));
      } finally {
        connection.end();
      }
    });
  },
});

async function push(
  deps: ApiDeps,
  session: Session,
  start: StartingPoint,
  connection: SseConnection,
  at: { turnId: string; position: Position },
  signal: AbortSignal,
): Promise<void> {
  if (start.kind === 'over') return;
  const from = start.kind === 'turn' ? start : await firstTurn(deps, session, signal);
  if (from === null) return;
  at.turnId = from.turnId;
  at.position = from.position;
  await (from.open ? pushLive(deps, connection, at, signal) : pushStored(deps, connection, at, signal));
}

/** The first turn of a session that has none yet; null when the session is deleted or the stream is over. */
async function firstTurn({ db, feed }: ApiDeps, session: Session, signal: AbortSignal): Promise<PlaceInTurn | null> {
  while (!signal.aborted) {
    const nudge = feed.sessionNudge(session.id, signal);
    const now = await findSession(db, session.project_id, session.id);
    if (now === null) return null;
    const start = await startingPoint(db, now, '');
    if (start.kind === 'turn') return start;
    await nudge;
  }
  return null;
}

/** A turn that runs: all its watchers share one reader. */
async function pushLive(
  { feed }: ApiDeps,
  connection: SseConnection,
  at: { turnId: string; position: Position },
  signal: AbortSignal,
): Promise<void> {
  let resume = (): void => undefined;
  const wake = (): void => resume();
  const reader = feed.watch(at.turnId, wake);
  signal.addEventListener('abort', wake);
  let upToDate = false;
  try {
    while (!signal.aborted && connection.isOpen) {
      const changed = new Promise<void>((resolve) => (resume = resolve));
      const frames = await reader.after(at.position);
      for (const portion of portions(frames)) {
        await connection.send(at.turnId, portion, signal);
        at.position = portion.at(-1)!.position;
        if (upToDate) portion.forEach(observeLag);
        if (isTerminal(portion.at(-1)!)) return;
        if (signal.aborted) return;
      }
      if (frames.length > 0) continue;
      upToDate = true;
      await changed;
    }
  } finally {
    signal.removeEventListener('abort', wake);
    feed.release(reader, wake);
  }
}

/** What goes out in one write: the frames that are there, but no more than a socket soon takes. */
function* portions(frames: Frame[]): Generator<Frame[]> {
  let portion: Frame[] = [];
  let characters = 0;
  for (const frame of frames) {
    portion.push(frame);
    characters += frame.json.length;
    if (characters < MAX_AT_ONCE) continue;
    yield portion;
    portion = [];
    characters = 0;
  }
  if (portion.length > 0) yield portion;
}

/** Clocks of two machines differ a little: less than nothing counts as nothing. */
function observeLag({ type, writtenAt }: Frame): void {
  if (writtenAt === undefined) return;
  const kind = type.endsWith('.delta') ? 'delta' : 'event';
  streamLagSeconds.observe({ kind }, Math.max(0, Date.now() - writtenAt) / 1000);
}

/** A turn that has ended: its stored events (contract.md §3 "Stream resume during a turn"). */
async function pushStored(
  { db }: ApiDeps,
  connection: SseConnection,
  at: { turnId: string; position: Position },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && connection.isOpen) {
    const frames = await readFrames(db, at.turnId, at.position, PAGE, false);
    if (frames.length === 0) return;
    for (const portion of portions(frames)) {
      await connection.send(at.turnId, portion, signal);
      at.position = portion.at(-1)!.position;
    }
  }
}

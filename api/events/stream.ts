import { findEvent } from '../../src/events/read-history.js';
import { frameSchema } from '../../src/events/stream-schema.js';
import { ServiceError } from '../../src/platform/errors.js';
import { described } from '../../src/platform/object-schema.js';
import { countPendingCharacters } from '../../src/stream/frames.js';
import {
  isReplayTooLong,
  MAX_REPLAYED_EVENTS,
  type Opening,
  type SeenTurn,
  type StreamPlace,
} from '../../src/stream/opening.js';
import { formatEventId, START } from '../../src/stream/position.js';
import type { SessionOpening } from '../../src/stream/session-opening.js';
import type { ApiDeps } from '../deps.js';
import { operation, type Call, type JsonSchema } from '../http/core/operation.js';
import { sessionNotFound, sessionStateOfPath } from '../http/core/session-of-path.js';
import type { OpenStream } from './open-streams.js';
import { pushTurn, type Progress } from './push-turn.js';
import { SseConnection } from './sse-connection.js';

const EXAMPLE = `event: agent.message.delta
id: turn_01kag8z0d4k7q2r9t5y8h3j6m1:3.1.1
data: {"type":"agent.message.delta","turn_id":"turn_01kag8z0d4k7q2r9t5y8h3j6m1","message_id":"msg_01kag8z1q2w3e4r5t6y7u8i9p0","content":"Two orders"}

`;
const RETRY_MS = 2000;
/** Sent after the last event: EventSource reconnects after every end, and then need not hurry. */
const RETRY_AFTER_END_MS = 15_000;

const follow = {
  $id: 'StreamFollow',
  type: 'string',
  enum: ['session'],
  description: '`session`: the stream goes on with every turn of the session that begins.',
} as const;

/** What a stream shows (docs/contract.md §22). */
const querySchema = {
  type: 'object',
  properties: {
    follow: described(
      follow,
      '`session`: the stream does not end with its turn. It goes on with every turn of the session that begins, until you close it or the session is deleted. Without it, the stream ends after one turn.',
    ),
    after: {
      type: 'string',
      description:
        'With `follow=session`: the id of a stored event, as the history shows it. The stream begins after this event, with everything that was stored since. `Last-Event-ID` has priority. Without `follow` it has no effect.',
    },
  },
} as const satisfies JsonSchema;

/** Events of a turn, or of all turns from one on, as Server-Sent Events. Replay, live events and resuming form one ordered sequence. */
export const streamEvents = operation({
  id: 'streamEvents',
  summary: 'Stream the events of the current turn, or of the session (Server-Sent Events)',
  description:
    'Follows the open turn, or else replays the last one, from its first event to its terminal event; then the stream ends. With `follow=session` it goes on with each turn that begins after that. Each frame has `id: <turn_id>:<position>`, `event:` with the type, and `data:` with a `StreamEvent` as JSON. Text comes as `.delta` frames while the model writes it. Comments `: ping` keep the connection alive. To go on after a break, send the last id as `Last-Event-ID`: nothing is missing and nothing comes twice.',
  query: querySchema,
  headers: { 'Last-Event-ID': 'The id of the last frame that you received: the stream continues after it.' },
  success: {
    status: 200,
    description:
      'Frames up to the turn’s terminal event; with `follow=session`, those of each further turn too. The schema describes one frame.',
    mediaType: 'text/event-stream',
    schema: frameSchema,
    example: EXAMPLE,
  },
  errors: ['session_not_found', 'event_not_found', 'replay_too_long', 'too_many_streams'],
  // The statement that opens the stream finds the session.
  requireResource: sessionStateOfPath,
  async handle(call) {
    const { deps, caller, params, query, ctx } = call;
    const isOfSession = query.follow !== undefined;
    await deps.streams.run(caller, ctx.res, async (stream) => {
      let opening = deps.feed.open(params.session_id!);
      const wake = (): void => opening.wake();
      stream.signal.addEventListener('abort', wake);
      try {
        const lastEventId = isOfSession ? await lastIdOf(call) : ctx.get('Last-Event-ID');
        const place = { projectId: caller.projectId, lastEventId, isOfSession };
        let found = await deps.feed.readOpening(opening, place);
        const { kind } = found.start ?? sessionNotFound();
        if (isOfSession) await checkReplay(deps, found.start);
        const at: Progress = { turnId: '', position: START };
        const countWaiting = (): Promise<number> =>
          countPendingCharacters(deps.db, at.turnId, at.position, isOfSession);
        const retryMs = kind === 'over' ? RETRY_AFTER_END_MS : RETRY_MS;
        const connection = await SseConnection.open(ctx, retryMs, stream.signal, countWaiting);
        stream.connection = connection;
        try {
          for (;;) {
            const seen = await pushNext(deps, opening, place, found, at, stream);
            if (seen === null || !isOfSession || stream.signal.aborted) return;
            place.lastEventId = formatEventId(at.turnId, at.position);
            opening = deps.feed.open(params.session_id!, seen);
            found = await deps.feed.readOpening(opening, place);
          }
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

/** The id after which a stream of a session begins; empty if the client named none. @throws ServiceError event_not_found */
async function lastIdOf({ deps, caller, params, query, ctx }: Call): Promise<string> {
  const lastEventId = ctx.get('Last-Event-ID');
  if (lastEventId !== '' || query.after === undefined) return lastEventId;
  const { event } = (await findEvent(deps.db, caller.projectId, params.session_id!, query.after)) ?? sessionNotFound();
  if (event !== null) return formatEventId(event.turn_id, [event.position, 0, 0]);
  throw new ServiceError(
    'event_not_found',
    'The session has no such event. Send the `id` of an event of its history as `after`, or leave it out.',
  );
}

/** @throws ServiceError replay_too_long */
async function checkReplay({ db }: ApiDeps, start: Opening | null): Promise<void> {
  if (start?.kind !== 'turn' || !(await isReplayTooLong(db, start))) return;
  throw new ServiceError(
    'replay_too_long',
    `More than ${MAX_REPLAYED_EVENTS} events were stored after this place. Read the history, then follow with the id of its last event as \`after\`.`,
  );
}

/**
 * Waits until there is a turn, and sends it to its end; null if there will be none, because the session is deleted or the stream
 * ends. It keeps no frames while the stream waits for the next turn.
 */
async function pushNext(
  deps: ApiDeps,
  opening: SessionOpening,
  place: StreamPlace,
  found: { start: Opening | null; changed: Promise<void> },
  at: Progress,
  stream: OpenStream,
): Promise<SeenTurn | null> {
  let { start, changed } = found;
  while (start?.kind === 'wait') {
    // An abort before the read of the tables did not resolve `changed`.
    if (!stream.signal.aborted) await changed;
    if (stream.signal.aborted) return null;
    ({ start, changed } = await deps.feed.readOpening(opening, place));
  }
  if (start?.kind !== 'turn') return null;
  await pushTurn(deps, start, opening, at, stream);
  return { turnId: start.turnId, number: start.number };
}

import { findEvent } from '../../src/events/read-history.js';
import { frameSchema } from '../../src/events/stream-schema.js';
import { ServiceError } from '../../src/platform/errors.js';
import { described } from '../../src/platform/object-schema.js';
import { countPendingCharacters } from '../../src/stream/frames.js';
import { formatEventId } from '../../src/stream/position.js';
import { isReplayTooLong, MAX_REPLAYED_EVENTS, type NextFrames } from '../../src/stream/read-next.js';
import type { ApiDeps } from '../deps.js';
import { breakOff } from '../http/core/error-response.js';
import { operation, type Call, type JsonSchema } from '../http/core/operation.js';
import { sessionNotFound, sessionStateOfPath } from '../http/core/session-of-path.js';
import { SseConnection } from './sse-connection.js';
import { StreamView } from './stream-view.js';

const EXAMPLE = `event: agent.message.delta
id: turn_01kag8z0d4k7q2r9t5y8h3j6m1:3.2.1
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

/** What a stream shows (docs/decisions.md "Session stream"). */
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
  resource: sessionStateOfPath,
  async handle(call) {
    const { deps, caller, params, query, ctx, log } = call;
    const isOfSession = query.follow !== undefined;
    const stream = await deps.streams.enter(caller, ctx.res);
    const view = new StreamView(deps.feed, params.session_id!, stream, isOfSession);
    const leave = (): void => {
      view.close();
      deps.streams.leave(stream);
    };
    try {
      const lastEventId = isOfSession ? await lastIdOf(call) : ctx.get('Last-Event-ID');
      const first = (await view.open(caller.projectId, lastEventId)) ?? sessionNotFound();
      if (isOfSession) await checkReplay(deps, first);
      const countWaiting = (): Promise<number> => countPendingCharacters(deps.db, view.at!, isOfSession);
      const retryMs = first.from.isOver && !isOfSession ? RETRY_AFTER_END_MS : RETRY_MS;
      const connection = await SseConnection.open(ctx, retryMs, stream.signal, countWaiting);
      stream.connection = connection;
      // The request ends here: what its steps hold would take as much memory as the stream itself, for as long as that is open.
      void view
        .push(first)
        .finally(() => connection.end())
        .catch((error: unknown) => breakOff(ctx.res, error, log))
        .finally(leave);
    } catch (error) {
      leave();
      throw error;
    }
  },
});

/** The id after which a stream of a session begins; empty if the client named none. @throws ServiceError event_not_found */
async function lastIdOf({ deps, caller, params, query, ctx }: Call): Promise<string> {
  const lastEventId = ctx.get('Last-Event-ID');
  if (lastEventId !== '' || query.after === undefined) return lastEventId;
  const { event } = (await findEvent(deps.db, caller.projectId, params.session_id!, query.after)) ?? sessionNotFound();
  if (event !== null) return formatEventId(event.turn_id, event.position);
  throw new ServiceError(
    'event_not_found',
    'The session has no such event. Send the `id` of an event of its history as `after`, or leave it out.',
  );
}

/** @throws ServiceError replay_too_long */
async function checkReplay({ db }: ApiDeps, { from, hasMore }: NextFrames): Promise<void> {
  if (!hasMore || !(await isReplayTooLong(db, from))) return;
  throw new ServiceError(
    'replay_too_long',
    `More than ${MAX_REPLAYED_EVENTS} events were stored after this place. Read the history, then follow with the id of its last event as \`after\`.`,
  );
}

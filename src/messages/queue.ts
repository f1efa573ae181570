import type { Db, Tx } from '../db/db.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { PageRows } from '../platform/page.js';
import { ServiceError } from '../platform/errors.js';
import { newId } from '../platform/ids.js';
import { traceparent } from '../platform/tracing.js';
import { OPEN } from '../db/turn-states.js';
import type { SentBy } from '../turns/begin.js';
import type { Message } from './message.js';

export const MAX_WAITING_MESSAGES = 20;

/** A message that waits. `turn_id` is the open turn for one that steers, else the turn that it will start. */
export interface WaitingMessage {
  id: string;
  turn_id: string;
  state: 'queued' | 'steering';
  /** The fields of its `user.message`, as JSON text. */
  data: string;
  created_at: string;
}

interface ListedMessage extends WaitingMessage {
  place: QueuePlace;
}

/**
 * The place in the order of delivery, as a list sees it that began while turn `open` was open (0: none): first what steers
 * that turn, then what is left over from earlier ones, then what queues; each in order of arrival. The number of the turn
 * is part of the place, so that a page goes on in the same order after the turn has ended.
 */
export interface QueuePlace {
  open: number;
  rank: number;
  arrival: number;
}

/** `w` are waiting messages, `t` is the session's latest turn if it is open. A message left over by a turn is queued. */
const WAITING_COLUMNS = rawSql(`w.id, CASE WHEN w.steers = t.number THEN t.id ELSE w.turn_id END AS turn_id,
  CASE WHEN w.steers = t.number THEN 'steering' ELSE 'queued' END AS state, w.data::text AS data, w.created_at`);
const OPEN_TURN = rawSql(`LEFT JOIN turns t ON t.session_id = w.session_id AND t.number = (
    SELECT turn_count FROM sessions WHERE sessions.id = w.session_id) AND t.${OPEN}`);

interface EnqueueOptions {
  steers?: number;
  room?: number;
  sentBy?: SentBy | null;
}

/**
 * Stores a message that waits. The transaction holds the lock of the open turn's row, or without one that of the session.
 * @param steers number of the open turn that it is to steer
 * @param sentBy whose request it came with; null for a schedule
 * @throws ServiceError queue_full
 */
export async function enqueue(
  tx: Tx,
  sessionId: string,
  message: Message,
  { steers = 0, room = MAX_WAITING_MESSAGES, sentBy = null }: EnqueueOptions = {},
): Promise<WaitingMessage> {
  const [row] = await runSql<WaitingMessage>(
    tx,
    sql`WITH added AS (
          INSERT INTO waiting_messages
            (id, session_id, turn_id, steers, data, trace, created_at, sent_by_key, sent_by_actor)
          SELECT ${newId('event')}, ${sessionId}, ${newId('turn')}, ${steers}::integer, ${JSON.stringify(message)}::json,
            ${traceparent()}, clock_timestamp(), ${sentBy?.keyId ?? null}, ${sentBy?.actor ?? null}
          WHERE (SELECT count(*) FROM waiting_messages WHERE session_id = ${sessionId}) < ${room}::integer
          RETURNING *)
        SELECT ${WAITING_COLUMNS} FROM added w ${OPEN_TURN}`,
  );
  if (row !== undefined) return row;
  throw new ServiceError(
    'queue_full',
    `${MAX_WAITING_MESSAGES} messages of this session wait, the limit. Withdraw one, or wait until one is delivered.`,
  );
}

export async function listWaiting(
  db: Db,
  sessionId: string,
  after: QueuePlace | null,
  limit: number,
): Promise<PageRows<ListedMessage>> {
  const rows = await runSql<ListedMessage>(
    db,
    sql`SELECT ${WAITING_COLUMNS}, json_build_object('open', open, 'rank', rank, 'arrival', w.arrival) AS place
        FROM waiting_messages w ${OPEN_TURN}
          CROSS JOIN LATERAL (SELECT coalesce(${after?.open ?? null}::bigint, t.number, 0) AS open) AS began
          CROSS JOIN LATERAL (SELECT CASE w.steers WHEN 0 THEN 2 WHEN open THEN 0 ELSE 1 END AS rank) AS ranked
        WHERE w.session_id = ${sessionId}
          AND (rank, w.arrival) > (${after?.rank ?? 0}::bigint, ${after?.arrival ?? 0}::bigint)
        ORDER BY rank, w.arrival LIMIT ${limit + 1}`,
  );
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
}

/** Withdraws a message that waits. @throws ServiceError message_not_found, message_delivered */
export async function withdraw(db: Db, sessionId: string, eventId: string): Promise<void> {
  const [found] = await runSql<{ was_waiting: boolean }>(
    db,
    sql`WITH withdrawn AS (
          DELETE FROM waiting_messages WHERE id = ${eventId} AND session_id = ${sessionId} RETURNING id)
        SELECT true AS was_waiting FROM withdrawn`,
  );
  if (found !== undefined) return;
  const [event] = await runSql(
    db,
    sql`SELECT FROM events WHERE id = ${eventId} AND session_id = ${sessionId} AND type = 'user.message'`,
  );
  if (event !== undefined) {
    throw new ServiceError('message_delivered', 'The message was delivered to a turn and can no longer be withdrawn.');
  }
  throw new ServiceError('message_not_found', 'No message of this id waits in the session.');
}

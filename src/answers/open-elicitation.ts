import { runSql, sql } from '../db/sql.js';
import {
  MAX_OPEN_QUESTION_BYTES,
  MAX_OPEN_QUESTIONS,
  MAX_QUESTION_BYTES_OF_TURN,
  MAX_QUESTIONS_OF_TURN,
} from '../forms/limits.js';
import { NOW } from '../turns/append.js';
import { pauseCalls } from '../turns/totals.js';
import type { TurnDeps } from '../turns/write.js';
import { changeWait, waitWrite } from './change-wait.js';
import { requiresAction, type CallPlace } from './elicitation.js';

/** The question is beyond a limit of its turn, which the message names. */
export class TooManyQuestionsError extends Error {
  override readonly name = 'TooManyQuestionsError';
}

interface NewQuestion {
  id: string;
  mode: 'form' | 'url';
  message: string;
  requestedSchema: object | null;
  url: string | null;
  /** The id of the server's request, as JSON. */
  requestId: string;
}

/**
 * Stores a question and asks the person, once. The call that it belongs to does not run meanwhile.
 * @throws TooManyQuestionsError, TurnEndedError
 */
export async function openElicitation(
  deps: TurnDeps,
  { turnId, step, index }: CallPlace,
  { id, requestId, ...question }: NewQuestion,
  timeoutSeconds: number,
): Promise<void> {
  await changeWait(deps, turnId, async ({ tx, write }) => {
    const [asked] = await runSql<AskedBefore & { call: number; is_task: boolean; is_stored: boolean }>(
      tx,
      sql`SELECT EXISTS (SELECT FROM elicitations WHERE id = ${id}) AS is_stored,
            count(q.id)::integer AS all, coalesce(sum(bytes), 0)::integer AS "allBytes",
            (count(q.id) FILTER (WHERE q.state = 'open'))::integer AS open,
            coalesce(sum(bytes) FILTER (WHERE q.state = 'open'), 0)::integer AS "openBytes",
            (count(q.id) FILTER (WHERE q.state = 'open' AND q.step = ${step} AND q.index = ${index}))::integer AS call,
            EXISTS (SELECT FROM tool_calls WHERE turn_id = ${turnId} AND step = ${step} AND index = ${index}
              AND state = 'task') AS is_task
          FROM (SELECT *, octet_length(message) + coalesce(octet_length(requested_schema::text), octet_length(url)) AS bytes
            FROM elicitations WHERE turn_id = ${turnId}) AS q`,
    );
    if (asked!.is_stored) return;
    requireRoom(asked!, bytesOf(question));
    await runSql(
      tx,
      sql`INSERT INTO elicitations (id, turn_id, step, index, session_id, mode, message, requested_schema, url, request,
            asked_at, expires_at)
          SELECT ${id}, id, ${step}, ${index}, session_id, ${question.mode}, ${question.message},
            ${question.requestedSchema === null ? null : JSON.stringify(question.requestedSchema)}::json, ${question.url},
            ${requestId}, now.at, now.at + ${timeoutSeconds}::double precision * interval '1 s'
          FROM turns, (SELECT clock_timestamp() AS at) AS now WHERE turns.id = ${turnId}`,
    );
    const clocks = asked!.call === 0 ? pauseCalls(1, asked!.is_task ? 1 : 0, NOW) : null;
    await write(waitWrite(turnId, await requiresAction(tx, turnId), clocks));
  });
}

interface AskedBefore {
  all: number;
  allBytes: number;
  open: number;
  openBytes: number;
}

function requireRoom({ all, allBytes, open, openBytes }: AskedBefore, bytes: number): void {
  const limit =
    open >= MAX_OPEN_QUESTIONS
      ? `${MAX_OPEN_QUESTIONS} open questions`
      : openBytes + bytes > MAX_OPEN_QUESTION_BYTES
        ? `${MAX_OPEN_QUESTION_BYTES / 1024} KiB of open questions`
        : all >= MAX_QUESTIONS_OF_TURN
          ? `${MAX_QUESTIONS_OF_TURN} questions`
          : allBytes + bytes > MAX_QUESTION_BYTES_OF_TURN
            ? `${MAX_QUESTION_BYTES_OF_TURN / 1024} KiB of questions`
            : null;
  if (limit !== null) throw new TooManyQuestionsError(`A turn may have at most ${limit}.`);
}

function bytesOf({ message, requestedSchema, url }: Pick<NewQuestion, 'message' | 'requestedSchema' | 'url'>): number {
  return Buffer.byteLength(message) + Buffer.byteLength(url ?? JSON.stringify(requestedSchema));
}

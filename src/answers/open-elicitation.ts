import { write } from '../db/transaction.js';
import {
  MAX_OPEN_QUESTION_BYTES,
  MAX_OPEN_QUESTIONS,
  MAX_QUESTION_BYTES_OF_TURN,
  MAX_QUESTIONS_OF_TURN,
} from '../forms/limits.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import type { CallPlace } from '../turns/facts.js';
import { requiresAction } from './elicitation.js';

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

const ASKED_BEFORE = `
  SELECT coalesce(bool_or(id = $2), false) AS "isStored", count(id)::integer AS all,
    coalesce(sum(bytes), 0)::integer AS "allBytes", (count(id) FILTER (WHERE state = 'open'))::integer AS open,
    coalesce(sum(bytes) FILTER (WHERE state = 'open'), 0)::integer AS "openBytes"
  FROM (
    SELECT id, state, octet_length(message) + coalesce(octet_length(requested_schema::text), octet_length(url)) AS bytes
    FROM elicitations WHERE turn_id = $1) AS asked`;
const INSERT_QUESTION = `
  INSERT INTO elicitations (id, turn_id, step, index, session_id, mode, message, requested_schema, url, request, asked_at,
    expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11::timestamptz + $12::double precision * interval '1 s')`;

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
  const bytes = bytesOf(question);
  const schema = question.requestedSchema === null ? null : JSON.stringify(question.requestedSchema);
  await changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const [asked] = await tx.query<[AskedBefore & { isStored: boolean }]>(ASKED_BEFORE, [turnId, id]);
    if (asked.isStored) return turn.stayStill();
    requireRoom(asked, bytes);
    write(tx, INSERT_QUESTION, [
      ...[id, turnId, step, index, turn.sessionId, question.mode, question.message, schema, question.url],
      ...[requestId, turn.at, timeoutSeconds],
    ]);
    turn.append(...(await requiresAction(tx, turnId)));
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

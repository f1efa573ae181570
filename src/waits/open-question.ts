import {
  MAX_OPEN_QUESTION_BYTES,
  MAX_OPEN_QUESTIONS,
  MAX_QUESTION_BYTES_OF_TURN,
  MAX_QUESTIONS_OF_TURN,
} from '../forms/limits.js';
import type { Form } from '../forms/fields.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import type { CallPlace } from '../turns/facts.js';
import type { AskedQuestion } from './kinds/question.js';
import { openWait } from './store.js';

/** The question is beyond a limit of its turn, which the message names. */
export class TooManyQuestionsError extends Error {
  override readonly name = 'TooManyQuestionsError';
}

interface NewQuestion extends Pick<AskedQuestion, 'mode' | 'message' | 'url'> {
  id: string;
  requestedSchema: object | null;
  /** The id of the server's request, as JSON. */
  requestId: string;
}

const ASKED_BEFORE = `
  SELECT coalesce(bool_or(id = $2), false) AS "isStored", count(id)::integer AS all,
    coalesce(sum(bytes), 0)::integer AS "allBytes", (count(id) FILTER (WHERE state = 'open'))::integer AS open,
    coalesce(sum(bytes) FILTER (WHERE state = 'open'), 0)::integer AS "openBytes",
    (SELECT tool_use_id FROM tool_calls WHERE turn_id = $1 AND step = $3 AND index = $4) AS "toolUseId"
  FROM (
    SELECT id, state, octet_length(ask->>'message')
      + coalesce(octet_length(ask->>'url'), octet_length((ask->'requested_schema')::text)) AS bytes
    FROM waits WHERE turn_id = $1 AND kind = 'elicitation') AS asked`;

/**
 * Stores a question and asks the person, once. The call that it belongs to does not run meanwhile.
 * @throws TooManyQuestionsError, TurnEndedError
 */
export async function openElicitation(
  deps: TurnDeps,
  { turnId, step, index }: CallPlace,
  { id, requestId, requestedSchema, ...question }: NewQuestion,
  timeoutSeconds: number,
): Promise<void> {
  const ask: AskedQuestion = { ...question, requested_schema: requestedSchema as Form | null, request: requestId };
  const bytes = bytesOf(ask);
  await changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const [asked] = await tx.query<[AskedBefore & { isStored: boolean; toolUseId: string }]>(ASKED_BEFORE, [
      turnId,
      id,
      step,
      index,
    ]);
    if (asked.isStored) return turn.stayStill();
    requireRoomForQuestion(asked, bytes);
    const { toolUseId } = asked;
    await openWait(tx, turn, step, { id, kind: 'elicitation', index, toolUseId, ask }, timeoutSeconds);
  });
}

interface AskedBefore {
  all: number;
  allBytes: number;
  open: number;
  openBytes: number;
}

function requireRoomForQuestion({ all, allBytes, open, openBytes }: AskedBefore, bytes: number): void {
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

function bytesOf({ message, requested_schema, url }: AskedQuestion): number {
  return Buffer.byteLength(message) + Buffer.byteLength(url ?? JSON.stringify(requested_schema));
}

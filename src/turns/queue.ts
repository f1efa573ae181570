import type { EntityManager } from 'typeorm';
import { ServiceError } from '../platform/errors.js';
import { appendEvents, type EventRow } from '../events/store.js';
import type { FileSnapshot, SkillSnapshot } from '../events/fields.js';
import { newId } from '../platform/ids.js';
import { traceparent } from '../platform/tracing.js';
import { isOpen, type TurnState } from './states.js';

export interface Message {
  content: string;
  files: FileSnapshot[];
  skills: SkillSnapshot[];
}

/** A turn just queued; `event` is the row of its `user.message`. */
export interface QueuedTurn {
  id: string;
  session_id: string;
  project_id: string;
  model_id: string;
  trace: string | null;
  position: number;
  event: EventRow;
}

/**
 * The one transaction of POST messages: locks the project's and the session's row, decides 404, 409 and 429, stores
 * the turn as queued with its `user.message`. Whatever dies afterwards, the turn will end (architecture.md).
 * @throws ServiceError session_not_found, session_running, too_many_running_turns
 */
export async function queueTurn(
  tx: EntityManager,
  projectId: string,
  sessionId: string,
  message: Message,
): Promise<QueuedTurn> {
  const [project]: { max_running_turns: number }[] = await tx.query(
    'SELECT max_running_turns FROM projects WHERE id = $1 FOR NO KEY UPDATE',
    [projectId],
  );
  // Of its own: what it counts must be seen after the wait for the project's lock, which every new turn takes.
  const [session]: { model_id: string; turn_count: number; state: TurnState | null; open: number }[] = await tx.query(
    `SELECT model_id, turn_count, (SELECT state FROM turns WHERE turns.id = last_turn_id) AS state,
       (SELECT count(*) FROM turns WHERE project_id = $2 AND state IN ('queued', 'running')) AS open
     FROM sessions WHERE id = $1 AND project_id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE`,
    [sessionId, projectId],
  );
  if (session === undefined) throw new ServiceError('session_not_found', `There is no session ${sessionId}.`);
  if (session.state !== null && isOpen(session.state)) {
    throw new ServiceError(
      'session_running',
      'A turn of this session is queued or running. Wait for its end or cancel it.',
    );
  }
  const limit = project!.max_running_turns;
  if (session.open >= limit) {
    throw new ServiceError(
      'too_many_running_turns',
      `The project has ${limit} queued or running turns, its limit. Send the message again after any of them ends.`,
      { max_running_turns: limit },
    );
  }
  const trace = traceparent();
  const turn = { id: newId('turn'), session_id: sessionId, number: session.turn_count + 1, position: 0 };
  await tx.query(
    `WITH turn AS (
       INSERT INTO turns (id, session_id, project_id, number, state, content, files, skills, trace)
       VALUES ($1, $2, $3, $4, 'queued', $5, $6, $7, $8))
     UPDATE sessions SET turn_count = $4, last_turn_id = $1 WHERE id = $2`,
    [
      turn.id,
      sessionId,
      projectId,
      turn.number,
      message.content,
      JSON.stringify(message.files),
      JSON.stringify(message.skills),
      trace,
    ],
  );
  const [event] = await appendEvents(tx, turn, [{ type: 'user.message', data: { ...message } }]);
  return {
    id: turn.id,
    session_id: sessionId,
    project_id: projectId,
    model_id: session.model_id,
    trace,
    position: turn.position,
    event: event!,
  };
}

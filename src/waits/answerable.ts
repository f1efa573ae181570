import type { Db } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import type { EventRow } from '../events/store.js';
import { WAIT_KINDS } from './kinds/index.js';
import type { Outcome, WaitType } from './kinds/wait-kind.js';
import type { WaitState } from './store.js';

/** A wait that an answer may belong to. */
export interface AnswerableWait {
  id: string;
  turn_id: string;
  tool_use_id: string;
  kind: WaitType;
  state: WaitState;
  outcome: Outcome | null;
  ask: object;
  /** JSON text of what the model wrote, for a call that a person allows; null for others. */
  input: string | null;
  /** The name of the called tool, as the model knows it; null for a question. */
  name: string | null;
  /** The event that answers it. */
  answer: EventRow | null;
}

/** The others end by themselves. */
const ANSWERED_KINDS = WAIT_KINDS.filter(({ answers }) => Object.keys(answers).length > 0).map(({ type }) => type);

/** What answers name: calls and questions. */
export interface Named {
  toolUseIds: string[];
  questionIds: string[];
}

/** A row with the columns of its answer's event `e`, which are null without one. */
type Row = Omit<AnswerableWait, 'answer'> & Omit<EventRow, 'id'> & { event_id: string | null; is_question: boolean };

/** The waits that answers may belong to, the latest first. */
export interface Answerable {
  /** By tool use id. If two calls have the same id, those of the latest one. */
  calls: Map<string, AnswerableWait[]>;
  questions: Map<string, AnswerableWait[]>;
}

export async function loadAnswerable(
  db: Db,
  sessionId: string,
  { toolUseIds, questionIds }: Named,
): Promise<Answerable> {
  const rows = await runSql<Row>(
    db,
    sql`SELECT w.id, w.turn_id, w.tool_use_id, w.kind, w.state, w.outcome, w.ask, w.during_call AS is_question,
          CASE WHEN w.kind = 'tool_confirmation' THEN c.input::text END AS input, c.name,
          e.id AS event_id, e.position, e.type, e.created_at, e.data::text AS data
        FROM (
          SELECT *, rank() OVER (PARTITION BY tool_use_id ORDER BY number DESC, step DESC, index DESC) AS age
          FROM (
            SELECT w.*, t.number FROM waits w JOIN turns t ON t.id = w.turn_id
            WHERE w.session_id = ${sessionId} AND w.tool_use_id = ANY(${toolUseIds}::text[]) AND NOT w.during_call
              AND w.kind = ANY(${ANSWERED_KINDS}::text[])) AS of_calls
          UNION ALL
          SELECT w.*, t.number, 1 FROM waits w JOIN turns t ON t.id = w.turn_id
          WHERE w.kind = 'elicitation' AND w.id = ANY(${questionIds}::text[]) AND w.session_id = ${sessionId}) AS w
          LEFT JOIN tool_calls c ON c.turn_id = w.turn_id AND c.step = w.step AND c.index = w.index
          LEFT JOIN events e ON e.session_id = w.session_id AND e.turn_number = w.number AND e.position = w.answer_position
        WHERE w.age = 1 ORDER BY w.asked_at DESC NULLS FIRST, w.id DESC`,
  );
  const answerable: Answerable = { calls: new Map(), questions: new Map() };
  for (const { event_id: id, position, type, created_at, data, is_question, ...wait } of rows) {
    const answer = id === null ? null : { id, turn_id: wait.turn_id, position, type, created_at, data };
    const [waits, key] = is_question ? [answerable.questions, wait.id] : [answerable.calls, wait.tool_use_id];
    waits.set(key, [...(waits.get(key) ?? []), { ...wait, answer }]);
  }
  return answerable;
}

/** The ids among these that belong to calls of the session that need no answer. */
export async function findOtherCalls(db: Db, sessionId: string, toolUseIds: string[]): Promise<Set<string>> {
  const rows = await runSql<{ tool_use_id: string }>(
    db,
    sql`SELECT DISTINCT tool_use_id FROM turns JOIN tool_calls ON tool_calls.turn_id = turns.id
        WHERE session_id = ${sessionId} AND tool_use_id = ANY(${toolUseIds}::text[])`,
  );
  return new Set(rows.map((row) => row.tool_use_id));
}

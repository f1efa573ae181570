import type { DataSource } from 'typeorm';
import type { FileSnapshot } from '../../src/events/fields.js';
import type { TurnState } from '../../src/turns/states.js';
import type { TurnContext } from '../turn/turn-context.js';
import type { AssistantBlock, ResultBlock } from '../../src/turns/content.js';

/** A turn as the model is told of it. */
export interface PastTurn {
  id: string;
  number: number;
  state: TurnState;
  content: string;
  files: FileSnapshot[];
  queuedAt: string;
  steps: PastStep[];
  /** What was streamed of a message that a cancel or a failure cut off. */
  cutOff: string | null;
}

export interface PastStep {
  step: number;
  content: AssistantBlock[];
  stopReason: string;
  /** In the order of the step's tool uses. */
  calls: PastCall[];
}

export interface PastCall {
  index: number;
  toolUseId: string;
  name: string;
  /** Null while there is no result. */
  content: ResultBlock[] | null;
  isError: boolean;
  /** Where the whole text is when `content` has a part of it only. */
  overflowKey: string | null;
}

/** What the model is told of a session: the summary of what came before, then turns in order, the current one last. */
export interface Conversation {
  summary: string | null;
  /** How the last turn ended that the summary stands for. */
  summarisedState: TurnState | null;
  turns: PastTurn[];
}

interface TurnData {
  id: string;
  number: number;
  state: TurnState;
  content: string;
  files: FileSnapshot[];
  queued_at: string;
  summary: string | null;
  summarised_state: TurnState | null;
}

interface StepData {
  turn_id: string;
  step: number;
  content: AssistantBlock[];
  stop_reason: string;
}

interface CallData {
  turn_id: string;
  step: number;
  index: number;
  tool_use_id: string;
  name: string;
  content: ResultBlock[] | null;
  is_error: boolean | null;
  overflow_key: string | null;
}

/** Loads the conversation of a turn's session up to and with that turn, from the latest summary on. */
export async function loadConversation(db: DataSource, turn: TurnContext): Promise<Conversation> {
  const rows: TurnData[] = await db.query(
    `WITH latest AS (
       SELECT turn_number, summary, state AS summarised_state
       FROM compactions c JOIN turns t ON t.session_id = c.session_id AND t.number = turn_number
       WHERE c.session_id = $1 AND turn_number < $2 ORDER BY turn_number DESC LIMIT 1)
     SELECT id, number, state, content, files, queued_at, summary, summarised_state FROM turns LEFT JOIN latest ON true
     WHERE session_id = $1 AND number > coalesce(turn_number, 0) AND number <= $2 ORDER BY number`,
    [turn.sessionId, turn.number],
  );
  const ids = rows.map((row) => row.id);
  const unfinished = rows.filter((row) => row.state === 'cancelled' || row.state === 'failed').map((row) => row.id);
  const [steps, calls, cut] = await Promise.all([
    db.query<StepData[]>(
      'SELECT turn_id, step, content, stop_reason FROM model_steps WHERE turn_id = ANY($1) ORDER BY turn_id, step',
      [ids],
    ),
    db.query<CallData[]>(
      `SELECT turn_id, step, index, tool_use_id, name, content, is_error, overflow_key FROM tool_calls
       WHERE turn_id = ANY($1) ORDER BY turn_id, step, index`,
      [ids],
    ),
    unfinished.length === 0 ? [] : cutOffMessages(db, unfinished),
  ]);
  const callsOf = grouped(calls, (call) => `${call.turn_id} ${call.step}`);
  const stepsOf = grouped(steps, (step) => step.turn_id);
  return {
    summary: rows[0]?.summary ?? null,
    summarisedState: rows[0]?.summarised_state ?? null,
    turns: rows.map((row) => ({
      id: row.id,
      number: row.number,
      state: row.state,
      content: row.content,
      files: row.files,
      queuedAt: row.queued_at,
      cutOff: cut.find((one) => one.turn_id === row.id)?.content ?? null,
      steps: (stepsOf.get(row.id) ?? []).map((step) => ({
        step: step.step,
        content: step.content,
        stopReason: step.stop_reason,
        calls: (callsOf.get(`${row.id} ${step.step}`) ?? []).map(callOf),
      })),
    })),
  };
}

function callOf(call: CallData): PastCall {
  return {
    index: call.index,
    toolUseId: call.tool_use_id,
    name: call.name,
    content: call.content,
    isError: call.is_error ?? false,
    overflowKey: call.overflow_key,
  };
}

function cutOffMessages(db: DataSource, turnIds: string[]): Promise<{ turn_id: string; content: string }[]> {
  return db.query(
    `SELECT turn_id, data->>'content' AS content FROM events
     WHERE turn_id = ANY($1) AND type = 'agent.message' AND data->>'incomplete' = 'true'`,
    [turnIds],
  );
}

function grouped<T>(rows: T[], keyOf: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group === undefined) groups.set(keyOf(row), [row]);
    else group.push(row);
  }
  return groups;
}

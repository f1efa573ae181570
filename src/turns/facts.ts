import type { Db } from '../db/db.js';
import type { CallUsage } from '../models/content.js';

/** A time from which something ran, and until which; null while it runs. In microseconds since 1970. */
export interface Span {
  from: number;
  to: number | null;
}

/** Where a tool call is: its turn, the step, and the call in it. */
export interface CallPlace {
  turnId: string;
  step: number;
  index: number;
}

/** A model call, as its row says. A call whose process died has no end. */
export interface ModelCallFact extends Span {
  modelId: string;
  usage: Partial<CallUsage> | null;
  /** Decimal text; null without a price. */
  cost: string | null;
  currency: string | null;
}

/** A tool call that was sent. */
export interface ToolCallFact extends Span, Omit<CallPlace, 'turnId'> {
  /** When its server began a task for it; null without one. */
  taskFrom: number | null;
  /** When it began a turn of another agent; null without one. */
  childFrom: number | null;
}

/** Something that the turn waited for (src/waits). */
export interface WaitFact extends Span {
  step: number;
  /** The call in its step; null: the model call. */
  index: number | null;
  /** The call ran meanwhile, and stood still. */
  duringCall: boolean;
}

/** The turns that a turn has begun by calls. The sums are of those that have ended. */
export interface DelegatedFact {
  turns: number;
  /** The ids of those that are open. */
  open: string[];
  /** When the last one of the others has ended, in microseconds since 1970; null if all are open. */
  lastEnded: number | null;
  modelCalls: number;
  inputTokens: number;
  outputTokens: number;
  /** Decimal text: of the calls with a price in `currency`. */
  cost: string;
  currency: string | null;
  isUnpriced: boolean;
}

/** What happened in a turn, from which its times, its usage and its cost follow. */
export interface TurnFacts {
  /** In the order in which they began. */
  modelCalls: ModelCallFact[];
  toolCalls: ToolCallFact[];
  waits: WaitFact[];
  /** Its message has an `output_schema`. */
  mustGiveOutput: boolean;
  /** Null if it has begun none. */
  delegated: DelegatedFact | null;
}

/** A time of a column, in microseconds since 1970. */
const micros = (column: string): string => `(extract(epoch FROM ${column}) * 1000000)::bigint`;

const DELEGATED = `(
  SELECT json_build_object(
    'turns', count(DISTINCT d.child_turn_id),
    'open', (SELECT coalesce(json_agg(o.turn_id ORDER BY o.turn_id), '[]') FROM open_turns o WHERE o.parent_turn_id = turn.id),
    'lastEnded', max(${micros('u.ended_at')}),
    'modelCalls', coalesce(sum(u.model_calls), 0),
    'inputTokens', coalesce(sum(u.input_tokens), 0),
    'outputTokens', coalesce(sum(u.output_tokens), 0),
    'cost', coalesce(sum(u.cost) FILTER (WHERE u.currency = coalesce(t.currency, u.currency)), 0)::text,
    'currency', coalesce(t.currency, max(u.currency)),
    'isUnpriced', coalesce(bool_or(u.is_unpriced OR u.model_calls > 0 AND u.currency IS DISTINCT FROM coalesce(t.currency, u.currency)), false))
  FROM turns t JOIN delegations d ON d.turn_id = t.id LEFT JOIN turn_usage u ON u.turn_id = d.child_turn_id
  WHERE t.id = turn.id GROUP BY t.id)`;

const READ_FACTS = `
  SELECT turn.id, coalesce((
      SELECT json_agg(json_build_object(
        'from', ${micros('started_at')},
        'to', ${micros('ended_at')},
        'modelId', model_id,
        'usage', usage,
        'cost', cost::text,
        'currency', currency) ORDER BY started_at, position, call)
      FROM model_calls WHERE turn_id = turn.id), '[]') AS "modelCalls",
    coalesce((
      SELECT json_agg(json_build_object(
        'step', step,
        'index', index,
        'from', ${micros('c.started_at')},
        'to', ${micros('c.ended_at')},
        'taskFrom', ${micros('m.created_at')},
        'childFrom', ${micros('d.created_at')}))
      FROM tool_calls c LEFT JOIN mcp_tasks m USING (turn_id, step, index)
        LEFT JOIN delegations d USING (turn_id, step, index)
      WHERE c.turn_id = turn.id AND c.started_at IS NOT NULL), '[]') AS "toolCalls",
    coalesce((
      SELECT json_agg(json_build_object(
        'step', step,
        'index', index,
        'from', ${micros('asked_at')},
        'to', ${micros('closed_at')},
        'duringCall', during_call))
      FROM waits WHERE turn_id = turn.id AND asked_at IS NOT NULL), '[]') AS waits,
    coalesce((
      SELECT message.data->'output_schema' IS NOT NULL FROM turns t JOIN events message
        ON message.session_id = t.session_id AND turn_number = coalesce(message_number, number) AND message.position = 1
      WHERE t.id = turn.id), false) AS "mustGiveOutput", ${DELEGATED} AS delegated
  FROM unnest($1::text[]) AS turn (id)`;

export async function readFacts(db: Db, turnId: string): Promise<TurnFacts> {
  const [facts] = await db.query<[TurnFacts]>(READ_FACTS, [[turnId]]);
  return facts;
}

/** By turn. */
export async function readFactsOf(db: Db, turnIds: string[]): Promise<Map<string, TurnFacts>> {
  const rows = await db.query<(TurnFacts & { id: string })[]>(READ_FACTS, [turnIds]);
  return new Map(rows.map((row) => [row.id, row]));
}

import { rawSql, runSql, sql, type Sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import { isTracing, recordSpan } from '../platform/tracing.js';
import type { TurnResult } from './outcome.js';
import type { Turn } from './turn.js';

interface TracedTurn extends Pick<Turn, 'trace'> {
  model_id: string;
  /** In ms since 1970. */
  started: number;
  ended: number;
}

/**
 * Records the span of a turn when it has ended: processes may die during a turn, so none can hold the span open. It belongs
 * to the trace of the request that sent the message.
 */
export async function traceTurn(
  db: Db,
  { id, session_id }: Pick<Turn, 'id' | 'session_id'>,
  { state, stop_reason, error, usage }: TurnResult,
): Promise<void> {
  if (!isTracing()) return;
  const ms = (column: string): Sql => rawSql(`(extract(epoch FROM ${column}) * 1000)::double precision`);
  const [turn] = await runSql<TracedTurn>(
    db,
    sql`SELECT trace, model_id, ${ms('coalesce(started_at, queued_at)')} AS started,
          ${ms('ended_at')} AS ended
        FROM turns JOIN sessions ON sessions.id = session_id WHERE turns.id = ${id}`,
  ).catch(() => []);
  if (turn === undefined) return;
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.conversation.id': session_id,
    'gen_ai.request.model': turn.model_id,
    'gen_ai.usage.input_tokens': usage?.input_tokens,
    'gen_ai.usage.output_tokens': usage?.output_tokens,
    'gen_ai.response.finish_reasons': [stop_reason ?? error?.type ?? state],
    turn_id: id,
    ...(error !== undefined && { 'error.type': error.type }),
  };
  recordSpan('invoke_agent', attributes, turn);
}

import { rawSql, runSql, sql, type Sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import { isTracing, recordSpan } from '../platform/tracing.js';
import type { TurnResult } from './outcome.js';

/**
 * Records the span of a turn when it has ended: processes may die during a turn, so none can hold the span open. It belongs
 * to the trace of the request that sent the message.
 */
export async function traceTurn(
  db: Db,
  { id, sessionId }: { id: string; sessionId: string },
  { state, stop_reason, error, usage }: TurnResult,
): Promise<void> {
  if (!isTracing()) return;
  const ms = (column: string): Sql => rawSql(`(extract(epoch FROM ${column}) * 1000)::double precision`);
  const [turn] = await runSql<{ trace: string | null; model_id: string; started: number; ended: number }>(
    db,
    sql`SELECT trace, model_id, ${ms('coalesce(started_at, queued_at)')} AS started,
          ${ms('ended_at')} AS ended
        FROM turns JOIN sessions ON sessions.id = session_id WHERE turns.id = ${id}`,
  ).catch(() => []);
  if (turn === undefined) return;
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.conversation.id': sessionId,
    'gen_ai.request.model': turn.model_id,
    'gen_ai.usage.input_tokens': usage?.input_tokens,
    'gen_ai.usage.output_tokens': usage?.output_tokens,
    'gen_ai.response.finish_reasons': [stop_reason ?? error?.type ?? state],
    turn_id: id,
    ...(error !== undefined && { 'error.type': error.type }),
  };
  recordSpan('invoke_agent', attributes, turn);
}

import { rawSql, sql, type Sql } from '../db/sql.js';
import { newId } from '../platform/ids.js';
import type { TurnOutcome } from './outcome.js';
import { terminalData, TOTALS } from './totals.js';
import type { TurnDeps } from './write.js';

/** What a statement writes that ends a turn. Its CTE of the turn's row after the write is `written`. */
export interface TurnEnd {
  /** Id of the terminal event. */
  id: string;
  /** Assignments to the turn's row. A recorded cancel request wins over another outcome. */
  set: Sql;
  /** Columns of the row that the other parts read, beside id, session_id and state. */
  columns: Sql;
  ctes: Sql;
  /** Selects the terminal event, for `insertEvents`. */
  event: Sql;
  returned: Sql;
}

/** Where a statement that ends a turn has the turn's row after the write, and the time of the write. */
interface EndingStatement {
  written: Sql;
  at: Sql;
  /** The CTE with the model call that the statement stores, which the other CTEs do not see in its table. */
  call?: Sql;
}

export function endWith(outcome: TurnOutcome, { config }: TurnDeps, { written, at, call }: EndingStatement): TurnEnd {
  const id = newId('event');
  return {
    id,
    set: sql`state = CASE WHEN turns.cancel_requested_at IS NULL THEN ${outcome.kind} ELSE 'cancelled' END,
      ended_at = ${at}, transition_at = ${at},
      end_reason = CASE WHEN turns.cancel_requested_at IS NULL THEN ${reasonOf(outcome)} END`,
    columns: sql`${TOTALS}, cancel_requested_at, project_id, turns.model_id AS asked_model_id`,
    // Mostly the session's state is that of the turn before, and nothing is written.
    ctes: sql`
      terminal AS (SELECT ${terminalData(outcome)} AS data FROM ${written}),
      closed AS (DELETE FROM open_turns USING ${written} AS ended WHERE turn_id = ended.id),
      dropped AS (
        UPDATE required_actions a SET state = 'cancelled' FROM ${written} AS ended
        WHERE a.turn_id = ended.id AND a.state IN ('planned', 'open')),
      unanswered AS (
        UPDATE elicitations q SET state = 'cancelled' FROM ${written} AS ended
        WHERE q.turn_id = ended.id AND q.state = 'open'),
      shown AS (
        UPDATE session_states s SET state = ended.state FROM ${written} AS ended
        WHERE s.session_id = ended.session_id AND s.state <> ended.state),
      ${recordUsage(written, config?.usageMetadataDays !== 0, call)}`,
    event: sql`SELECT ${id}, 'turn.' || state, (SELECT data FROM terminal) FROM ${written}`,
    returned: sql`(SELECT data::text FROM terminal) AS terminal,
      round(extract(epoch FROM ended_at - cancel_requested_at) * 1000)::bigint AS cancel_ms`,
  };
}

/** A sum of counts, which are numbers of our own writing. As `numeric` it cannot overflow. */
const total = (kind: string): Sql => rawSql(`coalesce(sum((usage->>'${kind}')::numeric), 0)`);
const MAX_BIGINT = rawSql('9223372036854775807');

/**
 * The CTEs that keep what the turn took of each model, for GET usage. They must not fail, because the turn then could not
 * end: a sum that is too large is cut, and rows that exist stay. Sums over turns are made later (usage-sums).
 */
function recordUsage(written: Sql, keepsMetadata: boolean, call: Sql | undefined): Sql {
  const stored =
    call === undefined
      ? sql``
      : sql`AND NOT EXISTS (
          SELECT FROM ${call} AS c WHERE c.position = a.position AND c.attempt = a.attempt)
        UNION ALL SELECT model_id, usage, cost, currency FROM ${call}`;
  return sql`
      attempts AS (
        SELECT a.model_id, a.usage, a.cost, a.currency FROM model_attempts a, ${written} AS ended WHERE a.turn_id = ended.id ${stored}),
      by_model AS (
        SELECT model_id, count(*) AS calls, model_id = min(model_id) OVER () AS is_first, ${total('input_tokens')} AS input,
          ${total('output_tokens')} AS output, ${total('cache_read_input_tokens')} AS cache_read,
          ${total('cache_creation_input_tokens')} AS cache_write,
          sum(attempts.cost) FILTER (WHERE attempts.currency = ended.currency) AS cost,
          bool_or(attempts.currency IS NULL OR attempts.currency <> ended.currency) AS is_unpriced
        FROM attempts, ${written} AS ended GROUP BY model_id),
      usage AS (
        INSERT INTO turn_usage (turn_id, model_id, project_id, session_id, ended_at, metadata, model_calls, input_tokens,
          output_tokens, cache_read_input_tokens, cache_creation_input_tokens, cost, currency, is_unpriced, is_first)
        SELECT ended.id, coalesce(m.model_id, asked_model_id, s.model_id), ended.project_id, s.id, ended_at,
          ${keepsMetadata ? sql`metadata` : sql`'{}'::json`}, coalesce(calls, 0),
          least(coalesce(input + cache_read + cache_write, 0), ${MAX_BIGINT}), least(coalesce(output, 0), ${MAX_BIGINT}),
          least(coalesce(cache_read, 0), ${MAX_BIGINT}), least(coalesce(cache_write, 0), ${MAX_BIGINT}),
          coalesce(m.cost, 0), ended.currency, coalesce(m.is_unpriced, false), coalesce(m.is_first, true)
        FROM ${written} AS ended JOIN sessions s ON s.id = ended.session_id LEFT JOIN by_model m ON true
        ON CONFLICT DO NOTHING)`;
}

function reasonOf(outcome: TurnOutcome): string | null {
  switch (outcome.kind) {
    case 'completed':
      return outcome.stopReason;
    case 'failed':
      return outcome.type;
    case 'cancelled':
      return null;
  }
}

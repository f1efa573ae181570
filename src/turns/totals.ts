import type { Timing, Usage, UsageDetails } from '../events/fields.js';
import { moneyJson } from '../db/money.js';
import { joinSql, rawSql, runSql, sql, type Sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import { waitsForAnswer } from '../sessions/required-actions.js';
import type { TurnOutcome } from './outcome.js';

const milliseconds = (interval: string): string => `round(extract(epoch FROM ${interval}) * 1000)::bigint`;

/**
 * Milliseconds that a turn `t` has run so far, without the time it waited for answers or for tasks. The clocks of these two
 * never run together: a call whose task works is a tool that runs.
 */
export const runningMs = (t: string): string =>
  `coalesce(extract(epoch FROM clock_timestamp() - ${t}.started_at
     - coalesce(${elapsed(`${t}.waiting_time`, `${t}.waiting_started_at`, 'clock_timestamp()')}, '0')
     - coalesce(${elapsed(`${t}.task_time`, `${t}.task_started_at`, 'clock_timestamp()')}, '0')) * 1000, 0)::double precision`;

/** Time spent in a phase, including a phase still running at `now`; null if the phase never began. */
const elapsed = (time: string, since: string, now: string): string =>
  `CASE WHEN ${since} IS NULL THEN ${time} ELSE coalesce(${time}, '0') + (${now} - ${since}) END`;

type Phase = 'model' | 'tools' | 'waiting' | 'task';

/**
 * Assignments that start the clock of a phase at a time. If a process died in this phase, the clock already runs and keeps
 * its start.
 */
export function startClock(phase: Phase, at: Sql): Sql {
  return sql`${column(phase, 'time')} = ${timeUntil(phase, at)}, ${column(phase, 'started_at')} = ${at}`;
}

/** Assignments that stop the clock of a phase at a time, if `condition` holds. */
export function stopClock(phase: Phase, at: Sql, condition: Sql = sql`true`): Sql {
  const [time, since] = [column(phase, 'time'), column(phase, 'started_at')];
  return sql`
    ${time} = CASE WHEN ${condition} THEN ${timeUntil(phase, at)} ELSE turns.${time} END,
    ${since} = CASE WHEN ${condition} THEN NULL ELSE turns.${since} END`;
}

/** Assignments for the waiting clock: it runs while calls wait for answers and at most `running` tools run. */
export function setWaitingClock(running: number, at: Sql): Sql {
  const waits = sql`(turns.tools_running <= ${running}::integer
    AND ${rawSql(waitsForAnswer('turns.id'))})`;
  return sql`
    waiting_time = CASE WHEN ${waits} THEN turns.waiting_time ELSE ${timeUntil('waiting', at)} END,
    waiting_started_at = CASE WHEN ${waits} THEN coalesce(turns.waiting_started_at, ${at}) END`;
}

/**
 * Assignments for `calls` running calls that begin to wait for an answer to their server's question, `tasks` of them with a
 * task. The waiting clock starts if nothing else runs.
 */
export function pauseCalls(calls: number, tasks: number, at: Sql): Sql {
  const isLast = sql`turns.tools_running <= ${calls}::integer`;
  return sql`tools_running = turns.tools_running - ${calls}::integer, ${stopClock('tools', at, isLast)},
    tasks_running = turns.tasks_running - ${tasks}::integer,
    ${stopClock('task', at, sql`turns.tasks_running <= ${tasks}::integer`)},
    waiting_started_at = CASE WHEN ${isLast} THEN coalesce(turns.waiting_started_at, ${at})
      ELSE turns.waiting_started_at END`;
}

/** Assignments for `calls` calls, at least one, that go on after their last open question; `tasks` of them with a task. */
export function resumeCalls(calls: number, tasks: number, at: Sql): Sql {
  return sql`tools_running = turns.tools_running + ${calls}::integer, ${startClock('tools', at)},
    ${stopClock('waiting', at)}
    ${tasks === 0 ? sql`` : sql`, tasks_running = turns.tasks_running + ${tasks}::integer, ${startClock('task', at)}`}`;
}

const column = (phase: Phase, name: 'time' | 'started_at'): Sql => rawSql(`${phase}_${name}`);

function timeUntil(phase: Phase, at: Sql): Sql {
  const [time, since] = [column(phase, 'time'), column(phase, 'started_at')];
  return sql`CASE WHEN turns.${since} IS NULL THEN turns.${time}
    ELSE coalesce(turns.${time}, '0') + (${at} - turns.${since}) END`;
}

/** The columns of a turn that `terminalData` reads, beside its state. */
export const TOTALS =
  rawSql(`message_number, queued_at, started_at, ended_at, connect_ms, first_token_at, input_tokens, output_tokens,
  cache_read_input_tokens, cache_creation_input_tokens, model_calls, cost, currency, is_unpriced, estimated_calls, model_time, model_started_at, tools_time,
  tools_started_at, waiting_time, waiting_started_at`);

const USAGE: Record<keyof Usage, string> = {
  input_tokens: 'input_tokens::numeric + cache_read_input_tokens + cache_creation_input_tokens',
  output_tokens: 'output_tokens',
};
const USAGE_DETAILS: Record<keyof Omit<UsageDetails, 'estimated'>, string> = {
  cache_read_input_tokens: 'cache_read_input_tokens',
  cache_creation_input_tokens: 'cache_creation_input_tokens',
  model_calls: 'model_calls',
  cost: moneyJson('cost', { isUnpriced: 'is_unpriced', currency: 'currency' }),
};
const ESTIMATED_DETAILS: Record<keyof UsageDetails, string> = { ...USAGE_DETAILS, estimated: 'true' };
const TIMING: Record<keyof Timing, string> = {
  queued_ms: milliseconds('started_at - queued_at'),
  connect_ms: 'connect_ms',
  first_token_ms: milliseconds('first_token_at - queued_at'),
  model_ms: milliseconds(elapsed('model_time', 'model_started_at', 'ended_at')),
  tools_ms: milliseconds(elapsed('tools_time', 'tools_started_at', 'ended_at')),
  waiting_ms: milliseconds(elapsed('waiting_time', 'waiting_started_at', 'ended_at')),
  total_ms: milliseconds('ended_at - queued_at'),
};

/** Usage of a turn; null if it never ran. */
const ifRan = (json: string): string => `CASE WHEN started_at IS NOT NULL THEN ${json} END`;
const SPENT = {
  usage: ifRan(jsonObject(USAGE)),
  usage_details: ifRan(
    `CASE WHEN estimated_calls > 0 THEN ${jsonObject(ESTIMATED_DETAILS)} ELSE ${jsonObject(USAGE_DETAILS)} END`,
  ),
  timing: jsonObject(TIMING),
};

/** The fields of the terminal event as JSON: the outcome and usage of the turn, from its row after the end. */
export function terminalData(outcome: TurnOutcome): Sql {
  const cancelled = rawSql(jsonObject(SPENT));
  switch (outcome.kind) {
    case 'completed':
      return sql`CASE state WHEN 'cancelled' THEN ${cancelled} ELSE ${completedData(outcome)} END`;
    case 'failed': {
      const { type, message, retryable } = outcome;
      const error = JSON.stringify({ type, message, retryable });
      return sql`CASE state WHEN 'cancelled' THEN ${cancelled} ELSE ${jsonWith({ error: sql`${error}::json` })} END`;
    }
    case 'cancelled':
      return cancelled;
  }
}

/** A budget ends a turn where its message is not known. */
function completedData({ stopReason, output }: Extract<TurnOutcome, { kind: 'completed' }>): Sql {
  const withoutOutput = jsonWith({ stop_reason: sql`${stopReason}::text` });
  const withOutput = jsonWith({ stop_reason: sql`${stopReason}::text`, output: sql`${output ?? null}::json` });
  if (output !== undefined) return withOutput;
  if (stopReason !== 'budget_reached') return withoutOutput;
  return sql`CASE WHEN ${rawSql(mustGiveOutput('written.session_id', 'coalesce(written.message_number, written.number)'))} THEN ${withOutput} ELSE ${withoutOutput} END`;
}

/** True if the message of a turn has an `output_schema`: that of the turn that it continues, where it continues one. */
export const mustGiveOutput = (sessionId: string, messageNumber: string): string => `(
  SELECT message.data->'output_schema' IS NOT NULL FROM events message
  WHERE message.session_id = ${sessionId} AND message.turn_number = ${messageNumber} AND message.position = 1)`;

function jsonWith(values: Record<string, Sql>): Sql {
  const rest = Object.entries(SPENT).map(([name, expression]): [string, Sql] => [name, rawSql(expression)]);
  const columns = [...Object.entries(values), ...rest].map(([name, value]) => sql`${value} AS ${rawSql(name)}`);
  return sql`(SELECT row_to_json(fields) FROM (SELECT ${joinSql(columns, ', ')}) AS fields)`;
}

function jsonObject(fields: Record<string, string>): string {
  const columns = Object.entries(fields).map(([name, expression]) => `${expression} AS ${name}`);
  return `(SELECT row_to_json(fields) FROM (SELECT ${columns.join(', ')}) AS fields)`;
}

/** Milliseconds that a turn has run so far; 0 if it does not exist. */
export async function loadRunningMs(db: Db, turnId: string): Promise<number> {
  const [turn] = await runSql<{ ms: number }>(
    db,
    sql`SELECT ${rawSql(runningMs('turns'))} AS ms FROM turns WHERE id = ${turnId}`,
  );
  return turn?.ms ?? 0;
}

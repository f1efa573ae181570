import { trace } from '@opentelemetry/api';
import { pino, type DestinationStream } from 'pino';

const SEVERITY: Record<string, string> = {
  trace: 'DEBUG',
  debug: 'DEBUG',
  info: 'INFO',
  warn: 'WARNING',
  error: 'ERROR',
  fatal: 'CRITICAL',
};

const FACTS = [
  ...['request_id', 'method', 'path', 'route', 'status', 'complete', 'ms', 'url', 'folder'],
  ...[
    'project_id',
    'key_id',
    'session_token',
    'session_id',
    'turn_id',
    'step',
    'index',
    'mcp_server_id',
    'webhook_id',
    'delivery_id',
    'erasure_id',
  ],
  ...['schedule_id', 'scheduled_at'],
  ...['activity', 'attempt', 'outcome', 'task', 'task_queue', 'workflow', 'workflow_id'],
  ...['worker_id', 'lost_workers', 'activities', 'sdk_component'],
  ...['model', 'model_request_id', 'state', 'reason', 'model_calls', 'input_tokens', 'output_tokens'],
  ...['cache_read_input_tokens', 'cache_creation_input_tokens', 'cost', 'currency', 'estimated'],
  ...[
    'queued_ms',
    'connect_ms',
    'first_token_ms',
    'model_ms',
    'tools_ms',
    'waiting_ms',
    'between_steps_ms',
    'total_ms',
    'cancel_ms',
  ],
  ...['answers', 'attributes', 'delay', 'file', 'key', 'missing', 'owner', 'removed', 'schedules', 'turns'],
] as const;
const FIELDS: ReadonlySet<string> = new Set(['role', 'trace_id', 'err', ...FACTS]);
const MAX_TEXT = 2000;

type Scalar = string | number | boolean | null | undefined;
/** The fields that a log line may have: ids and small facts. Message text, credentials and tool results are none. */
export type LogFields = { [name in (typeof FACTS)[number]]?: Scalar | readonly Scalar[] } & { err?: unknown };
/** Rejects a field that is not in the list, also one that a spread brings. */
type OnlyLogFields<F> = F & { [name in Exclude<keyof F, keyof LogFields>]: never };

interface WriteLine {
  <F extends LogFields>(fields: OnlyLogFields<F>, message: string): void;
  (message: string): void;
}
type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';
export type Logger = Record<LogLevel, WriteLine> & {
  child<F extends LogFields>(fields: OnlyLogFields<F>): Logger;
  isLevelEnabled(level: LogLevel): boolean;
};

/**
 * Logs one line of JSON per event to standard output, with Cloud Logging's severity names. The compiler rejects fields
 * that are not in the list above. At run time such a field and a value that is an object are dropped, and `redacted`
 * names them, because they could hold content or credentials.
 */
export function createLogger(level: string, role: string, destination?: DestinationStream): Logger {
  const log = pino(
    {
      level,
      base: { role },
      messageKey: 'message',
      mixin: () => ({ trace_id: trace.getActiveSpan()?.spanContext().traceId }),
      formatters: {
        level: (label) => ({ severity: SEVERITY[label] ?? 'DEFAULT' }),
        log: allowed,
      },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      serializers: { err: describeError },
    },
    destination,
  );
  // pino passes the fields of child loggers to no formatter. Children inherit this method.
  // oxlint-disable-next-line typescript/unbound-method -- called below with the logger it is called on
  const { child } = log;
  log.child = function (this: typeof log, fields, options) {
    return child.call(this, allowed(fields), options) as never;
  };
  return log;
}

function allowed(fields: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  const redacted: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (!FIELDS.has(name) || (name !== 'err' && !isSmallFact(value))) redacted.push(name);
    else kept[name] = typeof value === 'string' ? value.slice(0, MAX_TEXT) : value;
  }
  return redacted.length === 0 ? kept : { ...kept, redacted };
}

function isSmallFact(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => typeof item !== 'object' && isSmallFact(item));
  return value === null || typeof value !== 'object';
}

/**
 * Describes an error for the log: its kind, message and stack. Attached objects are left out: they can hold secrets.
 */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { name: typeof error };
  const { name, message, stack, cause } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return { name, message, code, stack, cause: cause instanceof Error ? describeError(cause) : undefined };
}

import { trace } from '@opentelemetry/api';
import { pino, type DestinationStream, type Logger } from 'pino';

export type { Logger };

const SEVERITY: Record<string, string> = {
  trace: 'DEBUG',
  debug: 'DEBUG',
  info: 'INFO',
  warn: 'WARNING',
  error: 'ERROR',
  fatal: 'CRITICAL',
};

/** The only fields a log line may have: ids and small facts. Any other field is dropped. */
const FIELDS = new Set(
  `role err
   request_id project_id key_id session_id turn_id step index trace_id
   method path route status complete ms url delay
   activity attempt outcome task from task_queue workflow workflowId activityType taskQueue sdkComponent
   state reason input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens model_calls
   queued_ms connect_ms first_token_ms model_ms tools_ms total_ms cancel_ms
   mcp_server_id webhook_id delivery_id file key attributes missing schedules removed`.split(/\s+/),
);
const MAX_TEXT = 2000;

/**
 * Logs one line of JSON per event to standard output, with Cloud Logging's severity names. Message text, credentials
 * and tool results must never be logged: a field that is not in the list above is dropped, and `redacted` names it.
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
  log.child = function (this: Logger, fields, options) {
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

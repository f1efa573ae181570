import { makeTelemetryFilterString, Runtime, type LogEntry } from '@temporalio/worker';
import type { Logger } from '../src/log.js';

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;
/** What of the SDK's metadata goes to the log: ids and small facts. */
const FIELDS = ['workflowId', 'activityType', 'attempt', 'taskQueue', 'sdkComponent'] as const;

let installed = false;

/** Sends the Temporal SDK's own lines through this service's log; once per process. */
export function installTemporalLogger(log: Logger): void {
  if (installed) return;
  installed = true;
  const write = (entry: Pick<LogEntry, 'level' | 'message'>, meta: Record<string, unknown> = {}): void => {
    const fields = Object.fromEntries(FIELDS.flatMap((name) => (name in meta ? [[name, meta[name]]] : [])));
    log[LEVELS[entry.level]]({ ...fields, err: meta.error }, entry.message);
  };
  Runtime.install({
    logger: {
      log: (level, message, meta) => write({ level, message }, meta),
      trace: (message, meta) => write({ level: 'TRACE', message }, meta),
      debug: (message, meta) => write({ level: 'DEBUG', message }, meta),
      info: (message, meta) => write({ level: 'INFO', message }, meta),
      warn: (message, meta) => write({ level: 'WARN', message }, meta),
      error: (message, meta) => write({ level: 'ERROR', message }, meta),
    },
    // SIGTERM belongs to this service: the order of what stops is its own.
    shutdownSignals: [],
    telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN' }) } },
  });
}

import { pino, type Logger } from 'pino';

export type { Logger };

const SEVERITY: Record<string, string> = {
  trace: 'DEBUG',
  debug: 'DEBUG',
  info: 'INFO',
  warn: 'WARNING',
  error: 'ERROR',
  fatal: 'CRITICAL',
};

/**
 * One line of JSON per event on standard output, with Cloud Logging's severity names. Callers pass ids and small
 * facts only: message text, credentials and results never go to a log.
 */
export function createLogger(level: string, role: string): Logger {
  return pino({
    level,
    base: { role },
    messageKey: 'message',
    formatters: { level: (label) => ({ severity: SEVERITY[label] ?? 'DEFAULT' }) },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    serializers: { err: describeError },
  });
}

/** What a log line says of a fault: its kind, message and stack, never its attached objects (they can hold secrets). */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { name: typeof error };
  const { name, message, stack } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return { name, message, code, stack };
}

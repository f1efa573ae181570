import { createLogger, type Logger } from '../../src/platform/logger.js';

/** Log lines of this file's services from which the logger had to drop a field. */
let dropped: string[] = [];

/** A logger of the service under test, which prints nothing unless LOG_LEVEL is set. */
export function testLogger(role = 'test'): Logger {
  const { LOG_LEVEL } = process.env;
  const write = (line: string): void => {
    checkLog(line);
    for (const listener of listeners) listener(JSON.parse(line) as Record<string, unknown>);
    if (LOG_LEVEL !== undefined) process.stdout.write(line);
  };
  return createLogger(LOG_LEVEL ?? 'info', role, { write });
}

const listeners = new Set<(line: Record<string, unknown>) => void>();

/** Calls the listener with each line of the services in this process; returns a function that ends this. */
export function onLogLine(listener: (line: Record<string, unknown>) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Remembers lines in which the logger dropped a field. */
export function checkLog(text: string): void {
  if (text.includes('"redacted":')) dropped.push(...text.split('\n').filter((line) => line.includes('"redacted":')));
}

/** Fails the test file whose services logged a field that the logger dropped. */
export const mochaHooks = {
  afterAll(): void {
    const lines = dropped;
    dropped = [];
    if (lines.length > 0)
      throw new Error(`The logger dropped fields (src/platform/logger.ts):\n${lines.slice(0, 3).join('\n')}`);
  },
};

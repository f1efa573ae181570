import { resolve } from 'node:path';
import { parseArgs, type ParseArgsConfig } from 'node:util';

/** The arguments are not valid; the message says why. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Parses a command's options. @throws UsageError */
export function parseOptions<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** The folder of the embedded parts. */
export function dataDirOf(env: NodeJS.ProcessEnv): string {
  return resolve(env.DATA_DIR || '.data');
}

/**
 * Runs `work` on DATABASE_URL, else on the embedded database of DATA_DIR, whether the service runs or not. The image has
 * no embedded database: its code is loaded only where it is used.
 */
export async function onDatabase<T>(env: NodeJS.ProcessEnv, work: (url: string) => Promise<T>): Promise<T> {
  if (env.DATABASE_URL) return work(env.DATABASE_URL);
  const { withEmbeddedDatabase } = await import('../temporal-dev/borrow-database.js');
  return withEmbeddedDatabase(dataDirOf(env), work);
}

/**
 * Runs an operator's command and sets the exit code that it returns. An error becomes one message without a stack; the
 * exit code is 2 for wrong arguments, else 1.
 */
export async function runCommand(usage: string, command: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await command();
  } catch (error) {
    const isUsage = error instanceof UsageError;
    process.stderr.write(`${(error as Error).message}\n${isUsage ? `\n${usage}\n` : ''}`);
    process.exitCode = isUsage ? 2 : 1;
  }
}

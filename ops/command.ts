import { parseArgs, type ParseArgsConfig } from 'node:util';
import type { Database } from '../src/db/db.js';
import { openDataSource } from '../src/db/data-source.js';
import { addressProblems, DATABASE_AUTH, databaseAddress } from '../src/platform/database-address.js';

/** Works on the database; returns the exit code. */
export type DatabaseCommand = (db: Database) => Promise<number>;

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

/** The database of the service. @throws Error if DATABASE_URL is unset */
export function databaseUrlOf(env: NodeJS.ProcessEnv): string {
  const auth = DATABASE_AUTH.find((name) => name === (env.DATABASE_AUTH || 'password'));
  if (auth === undefined) throw new Error(`DATABASE_AUTH must be one of ${DATABASE_AUTH.join(', ')}.`);
  if (env.DATABASE_URL) {
    const [problem] = addressProblems('DATABASE_URL', env.DATABASE_URL, auth);
    if (problem !== undefined) throw new Error(problem);
    return databaseAddress(env.DATABASE_URL, auth);
  }
  throw new Error(
    'DATABASE_URL is not set. Set it to the database of the service: postgres://USER:PASSWORD@HOST:5432/NAME.',
  );
}

/** Connects as the command `name`. A command runs few statements at a time. */
export async function withDatabase<T>(
  databaseUrl: string,
  name: string,
  work: (db: Database) => Promise<T>,
  connectTimeoutMs?: number,
): Promise<T> {
  const db = await openDataSource(databaseUrl, 4, name, 'service', connectTimeoutMs);
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

/**
 * Runs an operator's command and sets the exit code that it returns. An error becomes one message without a stack; the
 * exit code is 2 for wrong arguments, else 1. With --help it only prints how it is used.
 */
export async function runCommand(usage: string, command: () => Promise<number>): Promise<void> {
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    process.stdout.write(`${usage}\n`);
    return;
  }
  try {
    process.exitCode = await command();
  } catch (error) {
    const isUsage = error instanceof UsageError;
    process.stderr.write(`${(error as Error).message}\n${isUsage ? `\n${usage}\n` : ''}`);
    process.exitCode = isUsage ? 2 : 1;
  }
}

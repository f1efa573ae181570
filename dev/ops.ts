import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { keptSettings } from './data-dir.js';

/**
 * Runs a command of ops in a process of its own: on DATABASE_URL, else on the embedded database of DATA_DIR, and with the
 * other settings that `npm start` keeps there.
 * @returns the exit code
 */
export async function runOps(command: string, args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const dataDir = resolve(env.DATA_DIR || '.data');
  const settings = { ...env, DATA_DIR: dataDir, ...keptSettings(dataDir, env) };
  if (env.DATABASE_URL) return run(command, args, settings);
  // Loaded only here: an installation without development packages has no embedded Postgres.
  const { isServiceRunning, withEmbeddedDatabase } = await import('./borrow-database.js');
  if (command === 'doctor') {
    if (!isServiceRunning(dataDir)) {
      process.stdout.write(
        `npm start does not run on ${dataDir}: its Temporal server and its local model are stopped too.\n\n`,
      );
    }
    if (!existsSync(dataDir)) return run(command, args, settings);
  }
  return withEmbeddedDatabase(dataDir, async (DATABASE_URL) => {
    if (command !== 'doctor') await (await import('../src/db/migrate.js')).migrate(DATABASE_URL);
    return run(command, args, { ...settings, DATABASE_URL });
  });
}

async function run(command: string, args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const file = fileURLToPath(new URL(`../ops/${command}.js`, import.meta.url));
  const child = spawn(process.execPath, [file, ...args], { env, stdio: 'inherit' });
  // Ctrl-C reaches the command too. We outlive it, because a database that was started for it must be stopped.
  const ignore = (): void => undefined;
  const forward = (): void => void child.kill('SIGTERM');
  process.on('SIGINT', ignore).on('SIGTERM', forward);
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? 1;
  } finally {
    process.off('SIGINT', ignore).off('SIGTERM', forward);
  }
}

import { existsSync } from 'node:fs';
import { isEntry } from '../src/platform/is-entry.js';
import { keptSettings } from '../temporal-dev/data-dir.js';
import { dataDirOf, onDatabase, runCommand } from './command.js';
import { diagnose, formatFindings } from './doctor/diagnose.js';

/**
 * `npm run doctor`: checks what the environment names, and what `npm start` keeps in DATA_DIR for the settings that are
 * unset.
 * @returns the exit code: 1 if a check fails
 */
export async function runDoctor(env: NodeJS.ProcessEnv): Promise<number> {
  const dataDir = dataDirOf(env);
  const report = async (): Promise<number> => {
    const findings = await diagnose(env);
    process.stdout.write(formatFindings(findings));
    return findings.every(({ ok }) => ok) ? 0 : 1;
  };
  for (const [name, value] of Object.entries(keptSettings(dataDir, env))) env[name] = value;
  if (env.DATABASE_URL) return report();
  const { isServiceRunning } = await import('../temporal-dev/borrow-database.js');
  if (!isServiceRunning(dataDir)) {
    process.stdout.write(
      `npm start does not run on ${dataDir}: its Temporal server and its local model are stopped too.\n\n`,
    );
  }
  if (!existsSync(dataDir)) return report();
  return onDatabase(env, (url) => {
    env.DATABASE_URL = url;
    return report();
  });
}

if (isEntry(import.meta.url)) await runCommand('Usage: npm run doctor', () => runDoctor(process.env));

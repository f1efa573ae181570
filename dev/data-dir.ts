import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Creates the folder. Others may pass through it (for root, Postgres runs as another user); its files are ours alone. */
export function makeDataDir(dataDir: string): void {
  if (existsSync(dataDir)) return;
  mkdirSync(dataDir, { recursive: true });
  chmodSync(dataDir, 0o711);
}

/** Writes a file of the folder and returns its path. A file that exists is complete. */
export function writeKept(dataDir: string, name: string, content: string): string {
  const file = join(dataDir, name);
  writeFileSync(`${file}.new`, content, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return file;
}

/** The content of a file of the folder; null if there is none. */
export function readKept(dataDir: string, name: string): string | null {
  const file = join(dataDir, name);
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

/** The settings that `npm start` keeps under `dataDir`, for those that `env` does not set. */
export function keptSettings(dataDir: string, env: NodeJS.ProcessEnv): Record<string, string> {
  const settings: Record<string, string> = {};
  const encryptionKey = readKept(dataDir, 'encryption-key');
  if (!env.ENCRYPTION_KEY && encryptionKey !== null) settings.ENCRYPTION_KEY = encryptionKey;
  if (!env.MODELS_FILE && !env.ANTHROPIC_API_KEY && readKept(dataDir, 'models.json') !== null) {
    settings.MODELS_FILE = join(dataDir, 'models.json');
  }
  const temporal = readKept(dataDir, 'temporal.json');
  if (!env.TEMPORAL_ADDRESS && temporal !== null) {
    settings.TEMPORAL_ADDRESS = `127.0.0.1:${(JSON.parse(temporal) as { port: number }).port}`;
    settings.TEMPORAL_NAMESPACE = 'default';
    settings.TEMPORAL_CONFIG_FILE = join(dataDir, 'temporal.toml');
  }
  return settings;
}

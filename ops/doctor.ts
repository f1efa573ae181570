import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { lockHolder } from '#temporal-dev/lock.mjs';
import { dataDirLock, withEmbeddedDatabase } from '../temporal-dev/embedded-postgres.js';

/** `npm run doctor`: what the environment does not name is what `npm start` keeps in DATA_DIR. */
const { env } = process;
const dataDir = resolve(env.DATA_DIR || '.data');
const kept = (name: string): string | undefined => {
  const file = join(dataDir, name);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
};
if (!env.ENCRYPTION_KEY && kept('encryption-key') !== undefined) env.ENCRYPTION_KEY = kept('encryption-key');
if (!env.MODELS_FILE && !env.ANTHROPIC_API_KEY && kept('models.json') !== undefined) {
  env.MODELS_FILE = join(dataDir, 'models.json');
}
const temporal = kept('temporal.json');
if (!env.TEMPORAL_ADDRESS && temporal !== undefined) {
  env.TEMPORAL_ADDRESS = `127.0.0.1:${(JSON.parse(temporal) as { port: number }).port}`;
}
if (!env.DATABASE_URL && lockHolder(dataDirLock(dataDir))?.role !== 'start') {
  process.stdout.write(
    `npm start does not run on ${dataDir}; its Temporal server and local model run as long as it does.\n\n`,
  );
}
if (env.DATABASE_URL || !existsSync(dataDir)) {
  await import('./doctor/cli.js');
} else {
  await withEmbeddedDatabase(dataDir, async (url) => {
    env.DATABASE_URL = url;
    const { diagnose, table } = await import('./doctor/doctor.js');
    const findings = await diagnose(env);
    process.stdout.write(table(findings));
    process.exitCode = findings.every(({ ok }) => ok) ? 0 : 1;
  });
}

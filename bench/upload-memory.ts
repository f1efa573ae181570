/**
 * Measures the API's memory during parallel uploads: `npx tsx bench/upload-memory.ts [uploads] [MiB]`, by default 8
 * uploads of 100 MiB. The API is a separate process with its own database and local storage. Prints its sampled resident
 * memory, and the kernel's peak for comparison (Linux).
 */
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { migrate } from '../src/db/migrate.js';
import { openDataSource } from '../src/db/data-source.js';
import { createKey } from '../src/projects/api-keys.js';
import { startPostgres } from '../temporal-dev/embedded-postgres.js';
import { postStream, streamedFile } from '../test/support/upload.js';

const MIB = 1024 * 1024;
const [uploads = 8, mib = 100] = process.argv.slice(2).map(Number);

const dir = mkdtempSync(join(tmpdir(), 'upload-memory-'));
chmodSync(dir, 0o711);
const postgres = await startPostgres({ dataDir: dir, durable: false });
await migrate(postgres.url);
const db = await openDataSource(postgres.url, 1, 'bench');
const { key } = await createKey(db, { project: 'bench' });
await db.destroy();

const api = spawn(process.execPath, ['--import', 'tsx', 'api/main.ts'], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: {
    ...process.env,
    DATABASE_URL: postgres.url,
    ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    STORAGE_URL: pathToFileURL(join(dir, 'files')).href,
    PORT: '0',
    // No turn runs here.
    ANTHROPIC_API_KEY: 'none',
    TEMPORAL_ADDRESS: '127.0.0.1:9',
    RATE_LIMIT_PER_MINUTE: '0',
  },
});
try {
  const url = await listening();
  await upload(url, 1);
  const before = memory('VmRSS');
  let most = before;
  const sampling = setInterval(() => (most = Math.max(most, memory('VmRSS'))), 20);
  const started = Date.now();
  await Promise.all(Array.from({ length: uploads }, () => upload(url, mib)));
  const seconds = (Date.now() - started) / 1000;
  clearInterval(sampling);
  console.log(`${uploads} parallel uploads of ${mib} MiB in ${seconds.toFixed(1)} s`);
  console.log(`resident: ${before} MiB before, ${most} MiB at most while they ran (VmHWM ${memory('VmHWM')} MiB)`);
} finally {
  api.kill();
  await postgres.server.stop();
  rmSync(dir, { recursive: true, force: true });
}

async function listening(): Promise<string> {
  for await (const line of createInterface(api.stdout)) {
    const entry = JSON.parse(line) as { message: string; url: string };
    if (entry.message !== 'the API listens') continue;
    api.stdout.resume();
    return entry.url;
  }
  throw new Error('the API did not start');
}

async function upload(url: string, size: number): Promise<void> {
  const { status, body } = await postStream({ url, key }, streamedFile(size * MIB));
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
}

function memory(field: 'VmRSS' | 'VmHWM'): number {
  const [, kib] = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${api.pid}/status`, 'utf8'))!;
  return Math.round(Number(kib) / 1024);
}

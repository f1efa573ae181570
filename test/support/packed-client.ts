import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const client = fileURLToPath(new URL('../../client/', import.meta.url));
const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));

/** A folder in which the client is installed as it is published: built, with its package.json, and nothing else. */
export async function installClient(): Promise<{ folder: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'client-'));
  const installed = join(folder, 'node_modules', '@agent-session-service', 'client');
  await mkdir(installed, { recursive: true });
  await copyFile(join(client, 'package.json'), join(installed, 'package.json'));
  await run(process.execPath, [tsc, '-p', client, '--outDir', join(installed, 'dist')]);
  return { folder, remove: () => rm(folder, { recursive: true }) };
}

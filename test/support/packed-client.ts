import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const client = fileURLToPath(new URL('../../client/', import.meta.url));

/** A folder in which the client is installed as it is published: what `npm pack` puts together, and nothing else. */
export async function installClient(): Promise<{ folder: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'client-'));
  const installed = join(folder, 'node_modules', '@agent-session-service', 'client');
  await mkdir(installed, { recursive: true });
  const { stdout } = await run('npm', ['pack', client, '--pack-destination', folder, '--json', '--silent']);
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  await run('tar', ['-xzf', join(folder, filename), '-C', installed, '--strip-components=1']);
  return { folder, remove: () => rm(folder, { recursive: true }) };
}

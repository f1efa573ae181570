import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeAfterUs } from '../../temporal-dev/server-process.js';

/**
 * A new folder for the state of embedded servers, removed when this process is gone and they have ended. Others may
 * pass through it: as root, Postgres runs as another user.
 */
export function makeStateDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'agent-session-service-'));
  chmodSync(dir, 0o711);
  removeAfterUs(dir);
  return dir;
}

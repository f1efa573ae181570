import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** True if Node was started with this module, directly or through a symlink. `moduleUrl` is its `import.meta.url`. */
export function isEntry(moduleUrl: string): boolean {
  return process.argv[1] !== undefined && fileURLToPath(moduleUrl) === realpathSync(process.argv[1]);
}

import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** True for the module that Node was started with, also through a link to it; `moduleUrl` is its `import.meta.url`. */
export function isEntry(moduleUrl: string): boolean {
  return process.argv[1] !== undefined && fileURLToPath(moduleUrl) === realpathSync(process.argv[1]);
}

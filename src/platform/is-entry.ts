import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startFailure } from './setup-error.js';

/** True if Node was started with this module, directly or through a symlink. `moduleUrl` is its `import.meta.url`. */
export function isEntry(moduleUrl: string): boolean {
  return process.argv[1] !== undefined && fileURLToPath(moduleUrl) === realpathSync(process.argv[1]);
}

/** Runs a process of the service if Node was started with this module. If it cannot start, it prints why and exits with code 1. */
export function runIfEntry(moduleUrl: string, main: () => Promise<void>): void {
  if (!isEntry(moduleUrl)) return;
  main().catch((error: unknown) => {
    process.stderr.write(`${startFailure(error)}\n`);
    process.exit(1);
  });
}

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { use } from './use.js';

/** A folder of a suite's own for temporary files: what uploads leave in it is this suite's doing. */
export function useTempFolder(): { names(): string[] } {
  const { TMPDIR } = process.env;
  return use(
    async () => {
      const folder = mkdtempSync(join(process.env.TEST_STATE_DIR!, 'temp-'));
      process.env.TMPDIR = folder;
      return { folder, names: () => readdirSync(folder) };
    },
    ({ folder }) => {
      if (TMPDIR === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = TMPDIR;
      rmSync(folder, { recursive: true });
    },
  );
}

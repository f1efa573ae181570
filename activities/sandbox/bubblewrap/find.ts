import { access, constants } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** Where `npm run setup` puts bubblewrap (dev/bubblewrap.mjs). */
function fetchedPath(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'agent-session-service', 'bubblewrap', 'bwrap');
}

/** The path of `bwrap`: on PATH, or as fetched; null if there is none. */
export async function findBubblewrap(env: NodeJS.ProcessEnv = process.env): Promise<string | null> {
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder.startsWith('/'));
  for (const path of [...folders.map((folder) => join(folder, 'bwrap')), fetchedPath(env)]) {
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return null;
}

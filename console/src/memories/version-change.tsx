import type { AgentSessionClient, MemoryVersion } from '../../../client/src/index.js';
import { ApiError } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useLoad } from '../client/use-load.js';
import { ErrorNote } from '../parts/error-note.js';
import { changedLines } from './changed-lines.js';

const SIGNS = { same: ' ', removed: '-', added: '+' } as const;

/** The lines that a version has removed from a file, and added to it. */
export function VersionChange({ id, version: { version, path, change } }: { id: string; version: MemoryVersion }) {
  const client = useClient();
  const { value: texts, error } = useLoad(
    async (signal) =>
      Promise.all([
        change === 'created' ? '' : textOf(client, id, path, version - 1, signal),
        change === 'deleted' ? '' : textOf(client, id, path, version, signal),
      ]),
    [client, id, path, version],
  );
  if (texts === null) return <ErrorNote error={error} />;
  const [before, after] = texts;
  if (before === null || after === null) return <p class="hint">The text is not kept any more.</p>;
  const lines = changedLines(before, after);
  if (lines.every(({ kind }) => kind === 'same')) return <p class="hint">The text is the same.</p>;
  return (
    <pre tabIndex={0} aria-label={`Changes of ${path}`}>
      {lines.map(({ kind, text }) => `${SIGNS[kind]} ${text}`).join('\n')}
    </pre>
  );
}

/** Null if it is not kept. */
async function textOf(
  client: AgentSessionClient,
  id: string,
  path: string,
  version: number,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    return await client.memoryContent(id, path, { version, signal });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

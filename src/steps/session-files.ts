import type { Db } from '../db/db.js';
import type { FileRow } from '../db/entities/files.js';
import type { FileSnapshot } from '../events/fields.js';
import type { TurnContext } from './context.js';

export interface SessionFile extends FileSnapshot {
  origin: 'attached' | 'delivered';
  /** Null once the file is deleted. */
  storage_key: FileRow['storage_key'] | null;
  /** When a message first attached it; null for a file that was only delivered. */
  attached_at: string | null;
}

/**
 * The files of the session in order of arrival, without duplicates (decisions.md "What the agent has" `list_files`). By the index events_files the
 * statement reads the events that name files, and no other ones.
 */
export async function sessionFiles(
  db: Db,
  { sessionId, projectId }: Pick<TurnContext, 'sessionId' | 'projectId'>,
): Promise<SessionFile[]> {
  return db.query<SessionFile[]>(
    `WITH shown AS (
       SELECT file, 'attached' AS origin, created_at AS came_at
       FROM events CROSS JOIN json_array_elements(data->'files') AS file 
       WHERE session_id = $1 AND type = 'user.message' AND json_array_length(data->'files') > 0
       UNION ALL
       SELECT data->'file', 'delivered', created_at FROM events WHERE session_id = $1 AND type = 'agent.file'
     ), first AS (
       SELECT DISTINCT ON (file->>'id') file->>'id' AS id, file->>'filename' AS filename, file->>'mime_type' AS mime_type,
         (file->>'size_bytes')::bigint AS size_bytes, origin, came_at,
         min(came_at) FILTER (WHERE origin = 'attached') OVER (PARTITION BY file->>'id') AS attached_at
       FROM shown ORDER BY file->>'id', came_at
     )
     SELECT first.id, first.filename, first.mime_type, first.size_bytes, first.origin, first.attached_at,
       files.storage_key
     FROM first LEFT JOIN files ON files.id = first.id AND files.project_id = $2 AND files.deleted_at IS NULL
     ORDER BY came_at, first.id`,
    [sessionId, projectId],
  );
}

/** The files that messages attached, in the order in which they were attached first. */
export async function attachedFiles(...args: Parameters<typeof sessionFiles>): Promise<SessionFile[]> {
  const files = await sessionFiles(...args);
  return files
    .filter((file): file is SessionFile & { attached_at: string } => file.attached_at !== null)
    .sort((a, b) => compare(a.attached_at, b.attached_at) || compare(a.id, b.id));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * One line per file with the facts that the model needs to choose it. Names are quoted, because they are a client's
 * text.
 */
export function describeFile({ id, filename, mime_type, size_bytes }: FileSnapshot): string {
  return `${JSON.stringify(filename)} (file_id ${id}, ${mime_type}, ${size_bytes} bytes)`;
}

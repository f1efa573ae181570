import { readPage } from '../db/read-page.js';
import type { Db } from '../db/transaction.js';
import type { FileOrigin, FileRow } from '../db/entities/files.js';
import { ServiceError } from '../platform/errors.js';
import type { PageRequest, PageRows } from '../platform/page.js';

export type { FileOrigin, FileRow };

/** A link leads to the content for one hour (spec.md "Limits"). */
export const LINK_SECONDS = 3600;
export const MAX_FILE_BYTES = 100 * 1024 * 1024;

export type NewFile = Omit<FileRow, 'created_at' | 'deleted_at'>;

/** Adds the row of a file whose object is stored already. */
export async function insertFile(tx: Db, file: NewFile): Promise<FileRow> {
  const { id, project_id, filename, mime_type, size_bytes, origin, session_id, storage_key } = file;
  const [row] = await tx.query<[FileRow]>(
    `INSERT INTO files (id, project_id, filename, mime_type, size_bytes, origin, session_id, storage_key)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING *`,
    [id, project_id, filename, mime_type, size_bytes, origin, session_id, storage_key],
  );
  return row;
}

/** The files of `ids` that the project has; in no order. */
export async function findFiles(db: Db, projectId: string, ids: string[]): Promise<FileRow[]> {
  if (ids.length === 0) return [];
  return db.query<FileRow[]>(
    'SELECT * FROM files WHERE project_id = $1 AND id = ANY($2::text[]) AND deleted_at IS NULL',
    [projectId, ids],
  );
}

/** @throws ServiceError `file_not_found` when missing, deleted or of another project */
export async function getFile(db: Db, projectId: string, id: string): Promise<FileRow> {
  const [row] = await findFiles(db, projectId, [id]);
  if (row === undefined) throw fileNotFound([id]);
  return row;
}

/** The file that a signed link names; the link is the permission. @throws ServiceError `file_not_found` */
export async function getLinkedFile(db: Db, id: string): Promise<FileRow> {
  const [row] = await db.query<FileRow[]>('SELECT * FROM files WHERE id = $1 AND deleted_at IS NULL', [id]);
  if (row === undefined) throw fileNotFound([id]);
  return row;
}

export interface FileFilter {
  sessionId: string | undefined;
  origin: FileOrigin | undefined;
}

/** A page, newest first. */
export async function listFiles(
  db: Db,
  projectId: string,
  { sessionId, origin }: FileFilter,
  { limit, after }: PageRequest,
): Promise<PageRows<FileRow>> {
  return readPage<FileRow>(db, {
    query: `SELECT * FROM files
     WHERE project_id = $1 AND deleted_at IS NULL
       AND ($2::text IS NULL OR session_id = $2) AND ($3::text IS NULL OR origin = $3)
       AND ($4::timestamptz IS NULL OR (created_at, id) < ($4, $5))
     ORDER BY created_at DESC, id DESC LIMIT $6`,
    values: [projectId, sessionId ?? null, origin ?? null, after?.[0] ?? null, after?.[1] ?? null, limit + 1],
    order: 'created_at DESC, id DESC',
    limit,
  });
}

export function fileNotFound(ids: string[]): ServiceError {
  return new ServiceError('file_not_found', `No such file: ${ids.join(', ')}.`, { file_ids: ids });
}

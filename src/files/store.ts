import type { Readable } from 'node:stream';
import { type Db, IsNull } from '../db/db.js';
import {
  findResource,
  findResources,
  insertResource,
  listResources,
  resourcesOf,
  selectRows,
} from '../db/resources.js';
import { runSql, sql } from '../db/sql.js';
import { FileEntity, type FileOrigin, type FileRow } from '../db/entities/files.js';
import { ServiceError } from '../platform/errors.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import { ObjectMissingError, type ByteRange, type Storage } from './storage.js';
import { MIB } from '../platform/units.js';

export type { FileOrigin, FileRow };

/** Lifetime of a download link (docs/limits.md). */
const LINK_SECONDS = 3600;

/** How long a link is valid that is asked for now: with a session token, no longer than the token. */
export function linkSeconds(token: { expiresAt: number } | null): number {
  if (token === null) return LINK_SECONDS;
  return Math.max(1, Math.min(LINK_SECONDS, Math.floor((token.expiresAt - Date.now()) / 1000)));
}

export const MAX_FILE_BYTES = 100 * MIB;

export type NewFile = Omit<FileRow, 'created_at' | 'deleted_at' | 'token_session_id'> &
  Partial<Pick<FileRow, 'token_session_id'>>;

export function insertFile(tx: Db, file: NewFile): Promise<FileRow> {
  return insertResource(tx, FileEntity, { token_session_id: null, ...file });
}

export function findFile(db: Db, projectId: string, id: string): Promise<FileRow | null> {
  return findResource(db, FileEntity, projectId, id);
}

export function findFiles(db: Db, projectId: string, ids: string[]): Promise<FileRow[]> {
  return findResources(db, FileEntity, projectId, ids);
}

/**
 * Which of these files the tokens of a session may use: one of them uploaded it, or the agent delivered it in the session, or the
 * session is a copy, whose events name it (src/sessions/families).
 */
export async function filesOfTokens(
  db: Db,
  sessionId: string,
  ids: readonly string[],
): Promise<(file: FileRow) => boolean> {
  if (ids.length === 0) return () => false;
  const copied = await runSql<{ id: string }>(
    db,
    sql`SELECT file_id AS id FROM token_files WHERE session_id = ${sessionId} AND file_id = ANY(${ids}::text[])`,
  );
  const isCopied = new Set(copied.map(({ id }) => id));
  return ({ id, token_session_id, session_id }) =>
    token_session_id === sessionId || session_id === sessionId || isCopied.has(id);
}

/** Finds the file of a signed link, which needs no API key. @throws ServiceError `file_not_found` */
export async function getLinkedFile(db: Db, id: string): Promise<FileRow> {
  const row = await db.getRepository(FileEntity).findOneBy({ id, deleted_at: IsNull() });
  if (row === null) throw fileNotFound([id]);
  return row;
}

export interface FileFilter {
  sessionId: string | undefined;
  origin: FileOrigin | undefined;
}

export function listFiles(
  db: Db,
  projectId: string,
  { sessionId, origin }: FileFilter,
  page: PageRequest,
): Promise<PageRows<FileRow>> {
  const query = selectRows(resourcesOf(db, FileEntity, projectId));
  if (sessionId !== undefined) query.andWhere('r.session_id = :sessionId', { sessionId });
  if (origin !== undefined) query.andWhere('r.origin = :origin', { origin });
  return listResources(db, query, page);
}

export function fileNotFound(ids: string[]): ServiceError {
  return new ServiceError('file_not_found', `No such file: ${ids.join(', ')}.`, { file_ids: ids });
}

/** Opens a file's content. @throws ServiceError `file_not_found` if its object is missing, `storage_error` */
export async function openContent(storage: Storage, file: FileRow, range: ByteRange): Promise<Readable> {
  try {
    return await storage.open(file.storage_key, range);
  } catch (error) {
    throw error instanceof ObjectMissingError ? fileNotFound([file.id]) : error;
  }
}

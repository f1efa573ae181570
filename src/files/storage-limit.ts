import type { Db } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import { ServiceError } from '../platform/errors.js';
import { MIB } from '../platform/units.js';

/** All uploads with tokens of one session together (docs/decisions.md "Session tokens"). */
export const MAX_TOKEN_UPLOAD_BYTES = 256 * MIB;

/** Bytes of a project's files, skills, workspaces and memories, and of the rows of its sessions (src/sessions/row-bytes). */
export interface StoredBytes {
  bytes: number;
  row_bytes: number;
}

/**
 * Checks the storage of a project: the sum of its files, skills, workspaces and memories and of the rows of its sessions, and `more` bytes beyond
 * it. In the transaction that inserts a file or skill, after the insert, the check of files is exact: the insert locks the project's
 * sum until the commit. The sum of rows is that of a few seconds ago.
 * @param maxBytes 0 for no limit
 * @throws ServiceError `storage_limit_reached`
 */
export async function requireStorage(db: Db, projectId: string, maxBytes: number, more = 0): Promise<void> {
  if (maxBytes === 0) return;
  const [stored] = await db.query<StoredBytes[]>('SELECT bytes, row_bytes FROM project_storage WHERE project_id = $1', [
    projectId,
  ]);
  checkStorage(stored ?? { bytes: 0, row_bytes: 0 }, maxBytes, more);
}

/** As `requireStorage`, of sums that were just read. */
export function checkStorage({ bytes, row_bytes }: StoredBytes, maxBytes: number, more = 0): void {
  if (maxBytes === 0 || bytes + row_bytes + more <= maxBytes) return;
  throw new ServiceError(
    'storage_limit_reached',
    `The project would take more than ${maxBytes} bytes, its limit. It has ${bytes} bytes of files, skills, workspaces and memories, and ${row_bytes} bytes of sessions. Delete some first; those of a session are free within two hours.`,
    { max_bytes: maxBytes },
  );
}

/**
 * Checks the files that were uploaded with tokens of a session and its copies (src/sessions/families), and `more` bytes beyond them. In the transaction that inserts a
 * file, after the insert, the check is exact, as that of `requireStorage` is.
 * @throws ServiceError `storage_limit_reached`
 */
export async function requireTokenStorage(db: Db, familyId: string, more = 0): Promise<void> {
  const [row] = await runSql<{ bytes: number }>(
    db,
    sql`SELECT coalesce(sum(size_bytes), 0)::bigint AS bytes FROM files
        WHERE deleted_at IS NULL AND token_session_id = ANY(
          ARRAY(SELECT session_id FROM family_sessions WHERE family_id = ${familyId}) || ${familyId}::text)`,
  );
  if (row!.bytes + more <= MAX_TOKEN_UPLOAD_BYTES) return;
  throw new ServiceError(
    'storage_limit_reached',
    `The files uploaded with tokens of this session and its copies would take more than ${MAX_TOKEN_UPLOAD_BYTES} bytes, their limit. Your back end can upload with its key.`,
    { max_bytes: MAX_TOKEN_UPLOAD_BYTES },
  );
}

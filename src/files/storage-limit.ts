import { runSql, sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import { ServiceError } from '../platform/errors.js';
import { MIB } from '../platform/units.js';

/** All uploads with tokens of one session together (docs/contract.md §16). */
export const MAX_TOKEN_UPLOAD_BYTES = 256 * MIB;

/**
 * Checks the storage of a project: the sum of its files, skills and workspaces, and `more` bytes beyond it. In the transaction that
 * inserts a file or skill, after the insert, the check is exact: the insert locks the project's sum until the commit.
 * @param maxBytes 0 for no limit
 * @throws ServiceError `storage_limit_reached`
 */
export async function requireStorage(db: Db, projectId: string, maxBytes: number, more = 0): Promise<void> {
  if (maxBytes === 0) return;
  const [row] = await db.query<{ bytes: number }[]>('SELECT bytes FROM project_storage WHERE project_id = $1', [
    projectId,
  ]);
  if ((row?.bytes ?? 0) + more <= maxBytes) return;
  throw new ServiceError(
    'storage_limit_reached',
    `The files, skills and workspaces of the project would take more than ${maxBytes} bytes, its limit. Delete some first.`,
    { max_bytes: maxBytes },
  );
}

/**
 * Checks the files that were uploaded with tokens of a session, and `more` bytes beyond them. In the transaction that inserts a
 * file, after the insert, the check is exact, as that of `requireStorage` is.
 * @throws ServiceError `storage_limit_reached`
 */
export async function requireTokenStorage(db: Db, sessionId: string, more = 0): Promise<void> {
  const [row] = await runSql<{ bytes: number }>(
    db,
    sql`SELECT coalesce(sum(size_bytes), 0)::bigint AS bytes FROM files
        WHERE token_session_id = ${sessionId} AND deleted_at IS NULL`,
  );
  if (row!.bytes + more <= MAX_TOKEN_UPLOAD_BYTES) return;
  throw new ServiceError(
    'storage_limit_reached',
    `The files uploaded with tokens of this session would take more than ${MAX_TOKEN_UPLOAD_BYTES} bytes, their limit. Your back end can upload with its key.`,
    { max_bytes: MAX_TOKEN_UPLOAD_BYTES },
  );
}

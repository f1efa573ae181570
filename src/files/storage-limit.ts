import type { Db } from '../db/transaction.js';
import { ServiceError } from '../platform/errors.js';

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

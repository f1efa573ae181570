import { type Database, type Db, IsNull, Not, type Tx } from '../db/db.js';
import { FileEntity } from '../db/entities/files.js';
import { softDelete } from '../db/resources.js';
import { transaction } from '../db/transaction.js';
import type { Logger } from '../platform/logger.js';
import type { Storage } from './storage.js';
import { fileNotFound, type FileRow } from './store.js';

/**
 * Deletes a file: first it disappears for clients, then its object is removed, then its row. If a later step fails,
 * maintenance finishes it.
 * @param record runs in the transaction that deletes it for clients
 * @throws ServiceError `file_not_found`
 */
export async function removeFile(
  db: Database,
  storage: Storage,
  file: Pick<FileRow, 'id' | 'storage_key'>,
  log: Logger,
  record: (tx: Tx) => Promise<void>,
): Promise<void> {
  await transaction(db, async (tx) => {
    if (!(await softDelete(tx, FileEntity, file.id))) throw fileNotFound([file.id]);
    await record(tx);
  });
  await finishRemoval(db, storage, file).catch((err: unknown) => {
    log.warn({ err, file: file.id }, 'the object of a deleted file remains until the next maintenance');
  });
}

export async function finishRemoval(
  db: Db,
  storage: Storage,
  { id, storage_key }: Pick<FileRow, 'id' | 'storage_key'>,
): Promise<void> {
  await storage.delete(storage_key);
  await db.getRepository(FileEntity).delete({ id, deleted_at: Not(IsNull()) });
}

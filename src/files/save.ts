import type { Readable } from 'node:stream';
import type { Database, Tx } from '../db/db.js';
import { isDatabaseAway, transaction } from '../db/transaction.js';
import { newId } from '../platform/ids.js';
import { mimeTypeOf } from './filename.js';
import { requireStorage, requireTokenStorage } from './storage-limit.js';
import { newStorageKey, type Storage } from './storage.js';
import { insertFile, type FileRow } from './store.js';
import { ignored } from '../platform/ignored.js';

interface Content {
  filename: string;
  size: number;
  open: () => Readable;
}

interface Target {
  db: Database;
  storage: Storage;
  projectId: string;
  /** Limit of the project's storage in bytes; 0: none. */
  maxBytes: number;
  /** The session token with which the file is uploaded; null for a key. */
  token: { sessionId: string; familyId: string } | null;
}

/**
 * Stores an uploaded file: first the object, then the row, so that every row has its object. `commit` adds more writes
 * to the row's transaction.
 * @throws ServiceError `storage_limit_reached`
 */
export async function saveUpload(
  { db, storage, projectId, maxBytes, token }: Target,
  { filename, size, open }: Content,
  commit: (tx: Tx, row: FileRow) => Promise<void>,
): Promise<FileRow> {
  if (token !== null) await requireTokenStorage(db, token.familyId, size);
  await requireStorage(db, projectId, maxBytes, size);
  const mime_type = mimeTypeOf(filename);
  const storage_key = newStorageKey('files', projectId);
  const size_bytes = await storage.put(storage_key, open(), { contentType: mime_type, size });
  const file = { id: newId('file'), project_id: projectId, filename, mime_type, size_bytes, storage_key };
  try {
    return await transaction(db, async (tx) => {
      const row = await insertFile(tx, {
        ...file,
        origin: 'UPLOAD',
        session_id: null,
        token_session_id: token?.sessionId ?? null,
      });
      if (token !== null) await requireTokenStorage(tx, token.familyId);
      await requireStorage(tx, projectId, maxBytes);
      await commit(tx, row);
      return row;
    });
  } catch (error) {
    // If Postgres was lost, the commit may have succeeded: maintenance decides about the object later.
    if (!isDatabaseAway(error))
      await storage.delete(storage_key).catch(ignored('maintenance removes objects without a row'));
    throw error;
  }
}

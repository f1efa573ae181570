import type { Readable } from 'node:stream';
import { isDatabaseAway } from '../db/transaction.js';
import { storageKey, type Storage } from '../files/storage.js';
import type { Logger } from '../platform/logger.js';
import { readArchive, type StoredFile } from './archive.js';
import type { Bundle } from './bundle.js';
import type { Skill } from './store.js';

export type { StoredFile };
export { SKILL_MD } from './bundle.js';

/**
 * Stores the archive of a new skill, then runs `insert` with its key, so that every row has its object. Removes the
 * object if the insert fails.
 */
export async function storeArchive<T>(
  { storage, log }: { storage: Storage; log: Logger },
  { projectId, id, bundle }: { projectId: string; id: string; bundle: Bundle },
  insert: (key: string) => Promise<T>,
): Promise<T> {
  const key = storageKey('skills', projectId, id);
  await storage.put(key, bundle.archive(), { contentType: 'application/zip', size: bundle.sizeBytes });
  try {
    return await insert(key);
  } catch (error) {
    // If the connection is lost at the commit, the row may exist. Storage maintenance decides later.
    if (!isDatabaseAway(error)) await removeArchive({ storage, log }, key);
    throw error;
  }
}

/** Removes the archive of a deleted skill. If that fails, storage maintenance removes it later. */
export async function removeArchive({ storage, log }: { storage: Storage; log: Logger }, key: string): Promise<void> {
  await storage.delete(key).catch((err: unknown) => log.warn({ err, key }, 'an object is left for maintenance'));
}

export function listSkillFiles(storage: Storage, skill: Skill): Promise<StoredFile[]> {
  return readArchive(skill.size_bytes, (start, end) => storage.read(skill.storage_key, end - start, start));
}

/** Reads the first `maxBytes` of a file of a stored skill. @throws ObjectMissingError if it was deleted */
export function readSkillFile(storage: Storage, skill: Skill, file: StoredFile, maxBytes: number): Promise<Buffer> {
  return storage.read(skill.storage_key, Math.min(file.size, maxBytes), file.start);
}

/** Streams a non-empty file of a stored skill. @throws ObjectMissingError if it was deleted */
export function openSkillFile(storage: Storage, skill: Skill, file: StoredFile): Promise<Readable> {
  return storage.open(skill.storage_key, { start: file.start, end: file.start + file.size - 1 });
}

import { ObjectMissingError, storageError } from '../../src/files/storage.js';

/** @throws ServiceError `storage_error` if the archive is not where its row says: it was deleted at this moment, or is lost */
export function unlessLost<T>(read: Promise<T>): Promise<T> {
  return read.catch((error: unknown) => {
    throw error instanceof ObjectMissingError ? storageError(error) : error;
  });
}

import type { Readable } from 'node:stream';
import { ObjectMissingError, type ByteRange, type Storage } from './storage.js';
import { fileNotFound, type FileRow } from './store.js';

/** Opens a file's content. @throws ServiceError `file_not_found` if its object is missing, `storage_error` */
export async function openContent(storage: Storage, file: FileRow, range: ByteRange): Promise<Readable> {
  try {
    return await storage.open(file.storage_key, range);
  } catch (error) {
    throw error instanceof ObjectMissingError ? fileNotFound([file.id]) : error;
  }
}

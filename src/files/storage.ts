import type { Readable } from 'node:stream';
import { ServiceError } from '../platform/errors.js';
import { uniqueName } from '../platform/ids.js';

interface PutOptions {
  contentType: string;
  /** Size in bytes, if known. The backend chooses the upload method by it. */
  size?: number;
}

/** First and last byte position, inclusive. Without `end`: to the last byte. */
export interface ByteRange {
  start: number;
  end?: number;
}

export interface StoredObject {
  key: string;
  size: number;
  createdAt: Date;
}

interface LinkedFile {
  id: string;
  storage_key: string;
  filename: string;
  mime_type: string;
}

/**
 * Object storage: local disk or Google Cloud Storage, chosen by `STORAGE_URL`. The service makes the keys
 * (`newStorageKey`); they never contain client input. A failure of the storage itself is a `storage_error`.
 */
export interface Storage {
  /** Stores an object completely or not at all. Replaces an object with the same key. Returns the bytes written. */
  put(key: string, content: Readable | Buffer, options: PutOptions): Promise<number>;
  /** @throws ObjectMissingError before the first byte, if the object does not exist */
  open(key: string, range?: ByteRange): Promise<Readable>;
  /**
   * Reads the first `maxBytes` of an object from `start`.
   * @throws ObjectMissingError
   */
  read(key: string, maxBytes: number, start?: number): Promise<Buffer>;
  /** Size of an object. @throws ObjectMissingError */
  size(key: string): Promise<number>;
  /** Removes an object. Does nothing if it does not exist. */
  delete(key: string): Promise<void>;
  /** Lists the objects whose key starts with `prefix` and sorts after `after`, in key order. */
  list(prefix: string, after?: string): AsyncIterable<StoredObject>;
  /** A link that works without an API key and serves the file with its name and type (decisions.md "Resources", "Location"). */
  downloadUrl(file: LinkedFile, expiresSeconds: number): Promise<string>;
  /** @throws ServiceError `storage_error` if the storage does not answer */
  check(): Promise<void>;
}

/** A row names an object that is not in the storage, or not whole: it was lost or has just been deleted. */
export class ObjectMissingError extends Error {
  constructor(
    readonly key: string,
    message = `there is no object ${key}`,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ObjectMissingError';
  }
}

/** A storage failure as clients see it. The log gets the cause. */
export function storageError(cause: unknown): ServiceError {
  const error = new ServiceError('storage_error', 'The file storage is temporarily unavailable. Try again later.');
  error.cause = cause;
  return error;
}

/** The top folders of the storage, and the table whose rows own their objects (see maintenance). */
type StorageFolder = 'files' | 'skills' | 'results' | 'workspaces';

/** A new, time-ordered key. `owner` is the id of the project, or of the turn for tool results. */
export function newStorageKey(folder: StorageFolder, owner: string): string {
  return storageKey(folder, owner, uniqueName());
}

/**
 * A deterministic key: a writer that runs again replaces its earlier object.
 * @throws RangeError if a part could leave its folder: parts are ids and hashes
 */
export function storageKey(folder: StorageFolder, owner: string, name: string): string {
  return checkedKey(`${folder}/${owner}/${name}`);
}

/** @throws RangeError unless every segment consists of lower-case letters, digits, `_` and `-` */
export function checkedKey(key: string): string {
  if (!/^[a-z0-9_-]+(\/[a-z0-9_-]+)*$/.test(key)) throw new RangeError(`not a storage key: ${key}`);
  return key;
}

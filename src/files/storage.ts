import type { Readable } from 'node:stream';
import { ulid } from 'ulid';
import { ServiceError } from '../platform/errors.js';

export interface PutOptions {
  contentType: string;
  /** Size in bytes where it is known before: lets a backend choose how to send. */
  size?: number;
}

/** Inclusive positions of bytes; without `end` to the last one. */
export interface ByteRange {
  start: number;
  end?: number;
}

export interface StoredObject {
  key: string;
  size: number;
  createdAt: Date;
}

/** The file that a download link leads to. */
export interface LinkedFile {
  id: string;
  storage_key: string;
  filename: string;
  mime_type: string;
}

/**
 * Where the bytes are: local disk or Google Cloud Storage, chosen once by `STORAGE_URL`. Keys are made by the service
 * (`newStorageKey`), never of anything a client sent. Whatever goes wrong with the storage itself is a `storage_error`.
 */
export interface Storage {
  /** Stores an object, whole or not at all; one of the same key is replaced. Returns the bytes written. */
  put(key: string, content: Readable | Buffer, options: PutOptions): Promise<number>;
  /** @throws ObjectMissingError before the first byte, when there is no such object */
  open(key: string, range?: ByteRange): Promise<Readable>;
  /**
   * The first `maxBytes` of an object, from `start`.
   * @throws ObjectMissingError
   */
  read(key: string, maxBytes: number, start?: number): Promise<Buffer>;
  /** Size of an object. @throws ObjectMissingError */
  size(key: string): Promise<number>;
  /** Removes an object; no object is no error. */
  delete(key: string): Promise<void>;
  /** Every object whose key starts with `prefix` and comes after `after`, in the order of their keys. */
  list(prefix: string, after?: string): AsyncIterable<StoredObject>;
  /** A link that needs no API key, and serves the file under its name and type (contract.md §2 "Location"). */
  downloadUrl(file: LinkedFile, expiresSeconds: number): Promise<string>;
  /** @throws ServiceError `storage_error` when the storage does not answer */
  check(): Promise<void>;
}

/** An object that a row names is not in the storage: lost, or deleted meanwhile. */
export class ObjectMissingError extends Error {
  constructor(key: string) {
    super(`there is no object ${key}`);
    this.name = 'ObjectMissingError';
  }
}

/** The fault of a storage as clients see it; the cause stays for the log. */
export function storageError(cause: unknown): ServiceError {
  const error = new ServiceError('storage_error', 'The file storage is temporarily unavailable. Try again later.');
  error.cause = cause;
  return error;
}

/** The top folders of the storage, and whose row owns the objects in them (see maintenance). */
export type StorageFolder = 'files' | 'skills' | 'results';

/** A new, time-ordered key; `owner` is an id of this service: the project's, for results the turn's. */
export function newStorageKey(folder: StorageFolder, owner: string): string {
  return storageKey(folder, owner, ulid().toLowerCase());
}

/**
 * A key of known parts, for writers that may run again and must then replace what they wrote.
 * @throws RangeError on anything that could leave its folder: parts are ids and hashes
 */
export function storageKey(folder: StorageFolder, owner: string, name: string): string {
  return checkedKey(`${folder}/${owner}/${name}`);
}

/** @throws RangeError unless every segment is made of lower-case letters, digits, `_` and `-` */
export function checkedKey(key: string): string {
  if (!/^[a-z0-9_-]+(\/[a-z0-9_-]+)*$/.test(key)) throw new RangeError(`not a storage key: ${key}`);
  return key;
}

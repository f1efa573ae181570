import { ObjectMissingError, type Storage } from './storage.js';
import { MAX_IMAGE_BYTES, readImageType } from '../models/image-type.js';
import type { FileRow } from '../db/entities/files.js';
import type { ResultBlock } from '../models/content.js';
import { MIB } from '../platform/units.js';

/** A request may have 32 MB, and base64 adds a third. */
const MAX_PDF_BYTES = 20 * MIB;
const EDGE_BYTES = 64 * 1024;

export type ShowableFile = Pick<FileRow, 'filename' | 'mime_type' | 'size_bytes' | 'storage_key'>;

type NativeBlock = Extract<ResultBlock, { type: 'image' | 'document' }>;

/**
 * Builds a reference to a file as an image or document block. Returns null for other kinds of files, and the reason if
 * the model would refuse the image or PDF: one such block fails every further request of the session.
 * @throws ObjectMissingError
 */
export async function nativeBlock(storage: Storage, file: ShowableFile): Promise<NativeBlock | string | null> {
  if (/^image\/(jpeg|png|gif|webp)$/.test(file.mime_type)) return imageBlock(storage, file);
  if (file.mime_type === 'application/pdf') return pdfBlock(storage, file);
  return null;
}

async function imageBlock(storage: Storage, { size_bytes, storage_key }: ShowableFile): Promise<NativeBlock | string> {
  if (size_bytes > MAX_IMAGE_BYTES) return 'the image is too large to be shown';
  const type = await readImageType(size_bytes, (maxBytes) => storage.read(storage_key, maxBytes));
  if (type === null) return 'it is no image that can be shown';
  return { type: 'image', media_type: type, storage_key };
}

async function pdfBlock(storage: Storage, file: ShowableFile): Promise<NativeBlock | string> {
  const { size_bytes, storage_key, filename } = file;
  if (size_bytes > MAX_PDF_BYTES) return 'the PDF is too large to be shown';
  const [head, tail] = await Promise.all([
    storage.read(storage_key, EDGE_BYTES),
    storage.read(storage_key, EDGE_BYTES, Math.max(0, size_bytes - EDGE_BYTES)),
  ]);
  if (!head.subarray(0, 1024).includes('%PDF-') || !tail.includes('%%EOF')) return 'it is not a complete PDF';
  if (head.includes('/Encrypt') || tail.includes('/Encrypt')) return 'the PDF is encrypted';
  return { type: 'document', media_type: 'application/pdf', storage_key, title: filename };
}

export async function unlessMissing<T>(work: Promise<T>): Promise<T | 'missing'> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ObjectMissingError) return 'missing';
    throw error;
  }
}

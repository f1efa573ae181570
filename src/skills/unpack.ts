import type { FileHandle } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { crc32, createInflateRaw, type InflateRaw } from 'node:zlib';
import { invalidBundle, sizeMismatch, quoted } from './refusals.js';
import type { ZippedFile } from './unzip.js';

const CHUNK_BYTES = 256 * 1024;

/** The unpacked bytes of `file` as they come, their number and checksum unchecked. */
export function openFile(archive: FileHandle, file: ZippedFile): AsyncIterable<Buffer> {
  return file.isDeflated ? inflated(archive, file) : packed(archive, file);
}

async function* packed(archive: FileHandle, file: ZippedFile): AsyncGenerator<Buffer> {
  const end = file.start + file.compressedSize;
  for (let at = file.start; at < end;) {
    const length = Math.min(CHUNK_BYTES, end - at);
    const { bytesRead, buffer } = await archive.read(Buffer.allocUnsafe(length), 0, length, at);
    if (bytesRead === 0) throw sizeMismatch(file.path);
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

/** Whoever stops reading it stops the inflater and the file's reader too. */
function inflated(archive: FileHandle, file: ZippedFile): InflateRaw {
  const inflate = createInflateRaw({ chunkSize: CHUNK_BYTES });
  pipeline(Readable.from(packed(archive, file)), inflate, () => undefined);
  return inflate;
}

/**
 * Unpacks `file` chunk by chunk into `take`, which may throw to stop at the first byte too many, and checks that it is
 * what its header declares.
 * @throws ServiceError `invalid_skill_bundle` when the data is damaged or its size or checksum lies
 */
export async function unpack(archive: FileHandle, file: ZippedFile, take: (chunk: Buffer) => void): Promise<void> {
  const chunks = openFile(archive, file);
  let size = 0;
  let sum = 0;
  try {
    for await (const chunk of chunks) {
      size += chunk.length;
      take(chunk);
      sum = crc32(chunk, sum);
    }
  } catch (error) {
    if (!isZlibError(error)) throw error;
    throw invalidBundle(`The entry ${quoted(file.path)} is damaged: its compressed data cannot be read.`);
  }
  // An inflater stops at the end of its stream; what lies between it and the declared end belongs to nobody.
  const consumed = file.isDeflated ? (chunks as InflateRaw).bytesWritten : size;
  if (size !== file.size || consumed !== file.compressedSize) throw sizeMismatch(file.path);
  if (sum !== file.crc32)
    throw invalidBundle(`The entry ${quoted(file.path)} is damaged: its checksum does not match.`);
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_');
}

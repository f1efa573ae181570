import type { FileHandle } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { crc32, createInflateRaw, type InflateRaw } from 'node:zlib';
import { invalidBundle, sizeMismatch, quoted } from './refusals.js';
import type { ZippedFile } from './unzip.js';

const CHUNK_BYTES = 256 * 1024;

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

/** A reader that stops early also stops the inflater and the file's reader. */
function inflated(archive: FileHandle, file: ZippedFile): InflateRaw {
  const inflate = createInflateRaw({ chunkSize: CHUNK_BYTES });
  pipeline(Readable.from(packed(archive, file)), inflate, () => undefined);
  return inflate;
}

/**
 * Passes the unpacked bytes of `file` to `take` in chunks and checks their size and checksum against the header. `take`
 * may throw to stop at a limit.
 * @throws ServiceError `invalid_skill_bundle` if the data is damaged, or the size or checksum is false
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
  // An inflater stops at the end of its stream. Bytes between that and the declared end are ignored.
  const consumed = file.isDeflated ? (chunks as InflateRaw).bytesWritten : size;
  if (size !== file.size || consumed !== file.compressedSize) throw sizeMismatch(file.path);
  if (sum !== file.crc32)
    throw invalidBundle(`The entry ${quoted(file.path)} is damaged: its checksum does not match.`);
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_');
}

import {
  DIRECTORY_HEADER,
  directoryHeader,
  directorySize,
  EARLIEST_TIME,
  END_RECORD,
  endRecord,
  endSize,
  LOCAL_HEADER,
  localHeader,
  localSize,
  type ZipEntry,
} from '../files/zip.js';

/** A regular file, rw-r--r--. */
const MODE = 0o100644;

export interface SkillFile {
  path: string;
  size: number;
  crc32: number;
}

export interface StoredFile {
  path: string;
  size: number;
  start: number;
}

export function inArchiveOrder<File extends SkillFile>(files: File[]): File[] {
  return files.toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
}

export function archiveSize(files: SkillFile[]): number {
  const perFile = files.map(entryOf).map((entry) => localSize(entry) + entry.size + directorySize(entry, 0));
  return perFile.reduce((sum, bytes) => sum + bytes, endSize(0));
}

/**
 * The stored form of a skill: a ZIP archive of files only, sorted by the bytes of their paths, uncompressed, all with
 * the same time and mode. The same content always gives the same bytes, independent of the packer and of our zlib
 * version (decisions.md "Resources", "Skill archive"), and a file can be read by its byte range.
 *
 * Streams the archive of `files`, which must be sorted. `contentOf` must give exactly the declared bytes.
 */
export async function* writeArchive<File extends SkillFile>(
  files: File[],
  contentOf: (file: File) => AsyncIterable<Buffer> | Iterable<Buffer>,
): AsyncGenerator<Buffer> {
  const directory: Buffer[] = [];
  let offset = 0;
  for (const file of files) {
    const entry = entryOf(file);
    yield localHeader(entry);
    yield* contentOf(file);
    directory.push(directoryHeader(entry, offset));
    offset += localSize(entry) + file.size;
  }
  const records = Buffer.concat(directory);
  yield Buffer.concat([records, endRecord(files.length, records.length, offset)]);
}

function entryOf({ path, size, crc32 }: SkillFile): ZipEntry {
  return { path, size, storedSize: size, isDeflated: false, crc32, mode: MODE, time: EARLIEST_TIME };
}

/** Lists a stored archive of `size` bytes. It reads the last 64 KiB, and a second time if the directory is longer. */
export async function readArchive(
  size: number,
  readRange: (start: number, end: number) => Promise<Buffer>,
): Promise<StoredFile[]> {
  const tailStart = Math.max(0, size - 64 * 1024);
  const tail = await readRange(tailStart, size);
  const end = tail.subarray(tail.length - END_RECORD);
  const directorySize = end.readUInt32LE(12);
  const directoryStart = end.readUInt32LE(16);
  const directory =
    directoryStart >= tailStart
      ? tail.subarray(directoryStart - tailStart)
      : await readRange(directoryStart, directoryStart + directorySize);
  const files: StoredFile[] = [];
  for (let at = 0; at < directorySize;) {
    const nameLength = directory.readUInt16LE(at + 28);
    files.push({
      path: directory.toString('utf8', at + DIRECTORY_HEADER, at + DIRECTORY_HEADER + nameLength),
      size: directory.readUInt32LE(at + 24),
      start: directory.readUInt32LE(at + 42) + LOCAL_HEADER + nameLength,
    });
    at += DIRECTORY_HEADER + nameLength;
  }
  return files;
}

/**
 * The stored form of a skill: a ZIP archive of files only, sorted by the bytes of their paths, uncompressed, all with
 * the same time and mode. The same content always gives the same bytes, independent of the packer and of our zlib
 * version (contract.md §2 "Skill archive"), and a file can be read by its byte range. Written by hand, because a
 * library's next version could change the bytes.
 */
const LOCAL_HEADER = 30;
const DIRECTORY_HEADER = 46;
const END_RECORD = 22;
const VERSION = 20;
const MADE_BY_UNIX = (3 << 8) | VERSION;
const UTF8_NAMES = 0x800;
/** 1980-01-01 00:00, the earliest time in ZIP. */
const DOS_DATE = (1 << 5) | 1;
/** A regular file, rw-r--r--. */
const ATTRIBUTES = 0o100644 * 0x10000;

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
  const perFile = files.map(({ path, size }) => LOCAL_HEADER + DIRECTORY_HEADER + 2 * Buffer.byteLength(path) + size);
  return perFile.reduce((sum, bytes) => sum + bytes, END_RECORD);
}

/** Streams the archive of `files`, which must be sorted. `contentOf` must give exactly the declared bytes. */
export async function* writeArchive<File extends SkillFile>(
  files: File[],
  contentOf: (file: File) => AsyncIterable<Buffer> | Iterable<Buffer>,
): AsyncGenerator<Buffer> {
  const directory: Buffer[] = [];
  let offset = 0;
  for (const file of files) {
    const name = Buffer.from(file.path);
    yield Buffer.concat([localHeader(file, name.length), name]);
    yield* contentOf(file);
    directory.push(directoryHeader(file, name.length, offset), name);
    offset += LOCAL_HEADER + name.length + file.size;
  }
  const records = Buffer.concat(directory);
  yield Buffer.concat([records, endRecord(files.length, records.length, offset)]);
}

function localHeader(file: SkillFile, nameLength: number): Buffer {
  const header = Buffer.alloc(LOCAL_HEADER);
  header.writeUInt32LE(0x04034b50, 0);
  writeCommon(header, 4, file, nameLength);
  return header;
}

function directoryHeader(file: SkillFile, nameLength: number, offset: number): Buffer {
  const header = Buffer.alloc(DIRECTORY_HEADER);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(MADE_BY_UNIX, 4);
  writeCommon(header, 6, file, nameLength);
  header.writeUInt32LE(ATTRIBUTES, 38);
  header.writeUInt32LE(offset, 42);
  return header;
}

/** Method (0: stored) and time (0: midnight) are zero already. */
function writeCommon(header: Buffer, at: number, file: SkillFile, nameLength: number): void {
  header.writeUInt16LE(VERSION, at);
  header.writeUInt16LE(UTF8_NAMES, at + 2);
  header.writeUInt16LE(DOS_DATE, at + 8);
  header.writeUInt32LE(file.crc32, at + 10);
  header.writeUInt32LE(file.size, at + 14);
  header.writeUInt32LE(file.size, at + 18);
  header.writeUInt16LE(nameLength, at + 22);
}

function endRecord(count: number, directorySize: number, directoryOffset: number): Buffer {
  const record = Buffer.alloc(END_RECORD);
  record.writeUInt32LE(0x06054b50, 0);
  record.writeUInt16LE(count, 8);
  record.writeUInt16LE(count, 10);
  record.writeUInt32LE(directorySize, 12);
  record.writeUInt32LE(directoryOffset, 16);
  return record;
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

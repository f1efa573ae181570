/**
 * The records of a ZIP archive (APPNOTE 6.3), for archives whose contents are written as they are. Written by hand: the size of such
 * an archive is known before its first byte is sent, and its bytes depend on no library.
 */
export const LOCAL_HEADER = 30;
export const DIRECTORY_HEADER = 46;
export const END_RECORD = 22;
const DATA_DESCRIPTOR = 16;
const ZIP64_OFFSET = 12;
const ZIP64_END_RECORD = 56;
const ZIP64_LOCATOR = 20;
const VERSION = 20;
const VERSION_ZIP64 = 45;
const UNIX = 3 << 8;
const UTF8_NAMES = 0x800;
const HAS_DESCRIPTOR = 0x8;
/** Stands for an offset that only the ZIP64 record has. */
const IN_ZIP64 = 0xffffffff;

/** 1980-01-01 00:00, the earliest time in ZIP. */
export const EARLIEST_TIME = dosTime(0);

export interface ZipEntry {
  /** Relative, with `/` between folders, and at the end of a folder's own. */
  path: string;
  size: number;
  /** Bytes in the archive: more than `size` if they are `deflated`. */
  storedSize: number;
  isDeflated: boolean;
  /** Of the content; null if it follows the content in a data descriptor. */
  crc32: number | null;
  /** Type and permission bits, as in `st_mode`. */
  mode: number;
  /** As `dosTime` gives it. */
  time: number;
}

/** A time in ms since 1970 as ZIP has it: in UTC here, to two seconds, from 1980 to 2107. */
export function dosTime(ms: number): number {
  const earliest = Date.UTC(1980, 0);
  const time = new Date(Math.min(Math.max(ms, earliest), Date.UTC(2107, 11, 31, 23, 59, 58)));
  const date = ((time.getUTCFullYear() - 1980) << 9) | ((time.getUTCMonth() + 1) << 5) | time.getUTCDate();
  const seconds = (time.getUTCHours() << 11) | (time.getUTCMinutes() << 5) | (time.getUTCSeconds() >> 1);
  return date * 0x10000 + seconds;
}

/** Bytes of an entry before and behind its content. */
export function localSize({ path, crc32 }: Pick<ZipEntry, 'path' | 'crc32'>): number {
  return LOCAL_HEADER + Buffer.byteLength(path) + (crc32 === null ? DATA_DESCRIPTOR : 0);
}

export function localHeader(entry: ZipEntry): Buffer {
  const name = Buffer.from(entry.path);
  const header = Buffer.alloc(LOCAL_HEADER);
  header.writeUInt32LE(0x04034b50, 0);
  const { crc32 } = entry;
  writeCommon(header, 4, crc32 === null ? { ...entry, size: 0, storedSize: 0 } : entry, crc32, name.length);
  return Buffer.concat([header, name]);
}

/** Follows the content of an entry whose checksum is not in its local header. */
export function dataDescriptor({ size, storedSize }: ZipEntry, crc32: number): Buffer {
  const record = Buffer.alloc(DATA_DESCRIPTOR);
  record.writeUInt32LE(0x08074b50, 0);
  record.writeUInt32LE(crc32, 4);
  record.writeUInt32LE(storedSize, 8);
  record.writeUInt32LE(size, 12);
  return record;
}

/** Bytes of the directory's header of an entry that begins at `offset`. */
export function directorySize({ path }: Pick<ZipEntry, 'path'>, offset: number): number {
  return DIRECTORY_HEADER + Buffer.byteLength(path) + (offset >= IN_ZIP64 ? ZIP64_OFFSET : 0);
}

export function directoryHeader(entry: ZipEntry, offset: number, crc32 = entry.crc32): Buffer {
  const name = Buffer.from(entry.path);
  const isFar = offset >= IN_ZIP64;
  const header = Buffer.alloc(DIRECTORY_HEADER);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(UNIX | (isFar ? VERSION_ZIP64 : VERSION), 4);
  writeCommon(header, 6, entry, crc32, name.length);
  header.writeUInt16LE(isFar ? ZIP64_OFFSET : 0, 30);
  // The bit of folders of DOS, beside Unix' own.
  header.writeUInt32LE(entry.mode * 0x10000 + (entry.path.endsWith('/') ? 0x10 : 0), 38);
  header.writeUInt32LE(isFar ? IN_ZIP64 : offset, 42);
  if (!isFar) return Buffer.concat([header, name]);
  const extra = Buffer.alloc(ZIP64_OFFSET);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(8, 2);
  extra.writeBigUInt64LE(BigInt(offset), 4);
  return Buffer.concat([header, name, extra]);
}

/** Fields that both headers have. */
function writeCommon(header: Buffer, at: number, entry: ZipEntry, crc32: number | null, nameLength: number): void {
  header.writeUInt16LE(VERSION, at);
  header.writeUInt16LE(UTF8_NAMES | (entry.crc32 === null ? HAS_DESCRIPTOR : 0), at + 2);
  header.writeUInt16LE(entry.isDeflated ? 8 : 0, at + 4);
  header.writeUInt32LE(entry.time, at + 6);
  header.writeUInt32LE(crc32 ?? 0, at + 10);
  header.writeUInt32LE(entry.storedSize, at + 14);
  header.writeUInt32LE(entry.size, at + 18);
  header.writeUInt16LE(nameLength, at + 22);
}

/** Bytes of what ends an archive whose directory begins at `offset`. */
export function endSize(offset: number): number {
  return END_RECORD + (offset >= IN_ZIP64 ? ZIP64_END_RECORD + ZIP64_LOCATOR : 0);
}

/** Ends an archive of at most 65,534 entries, whose directory begins at `offset`. */
export function endRecord(count: number, directoryBytes: number, offset: number): Buffer {
  const record = Buffer.alloc(END_RECORD);
  record.writeUInt32LE(0x06054b50, 0);
  record.writeUInt16LE(count, 8);
  record.writeUInt16LE(count, 10);
  record.writeUInt32LE(directoryBytes, 12);
  record.writeUInt32LE(Math.min(offset, IN_ZIP64), 16);
  if (offset < IN_ZIP64) return record;
  const zip64 = Buffer.alloc(ZIP64_END_RECORD + ZIP64_LOCATOR);
  zip64.writeUInt32LE(0x06064b50, 0);
  zip64.writeBigUInt64LE(BigInt(ZIP64_END_RECORD - 12), 4);
  zip64.writeUInt16LE(UNIX | VERSION_ZIP64, 12);
  zip64.writeUInt16LE(VERSION_ZIP64, 14);
  zip64.writeBigUInt64LE(BigInt(count), 24);
  zip64.writeBigUInt64LE(BigInt(count), 32);
  zip64.writeBigUInt64LE(BigInt(directoryBytes), 40);
  zip64.writeBigUInt64LE(BigInt(offset), 48);
  zip64.writeUInt32LE(0x07064b50, ZIP64_END_RECORD);
  zip64.writeBigUInt64LE(BigInt(offset + directoryBytes), ZIP64_END_RECORD + 8);
  zip64.writeUInt32LE(1, ZIP64_END_RECORD + 16);
  return Buffer.concat([zip64, record]);
}

import { read } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import {
  fromRandomAccessReaderPromise,
  RandomAccessReader,
  type Entry,
  type LocalFileHeader,
  type ZipFile,
} from 'yauzl';
import { entryName, isSystemMetadata, PathTree, safeSegments } from './paths.js';
import { bundleTooLarge, invalidBundle, sizeMismatch, quoted } from './refusals.js';

/** Limit of entries in a package (docs/limits.md): files, and folders with or without an entry of their own. */
const MAX_ENTRIES = 500;
/** macOS Finder adds up to three metadata entries per file. A package with more than that is refused. */
const MAX_ENTRIES_WITH_DROPPED = 4 * MAX_ENTRIES;

const STORED = 0;
const DEFLATED = 8;
const ENCRYPTED_FLAGS = 0x1 | 0x40 | 0x2000;
const DATA_DESCRIPTOR_FLAG = 0x8;
const IN_ZIP64_FIELD = 0xffffffff;
const FILE_TYPE = 0xf000;
const REGULAR = 0x8000;
const DIRECTORY = 0x4000;

/** A file of an archive whose headers passed every check. Its content is not read yet. */
export interface ZippedFile {
  segments: string[];
  path: string;
  /** Sizes and checksum from the header. */
  size: number;
  compressedSize: number;
  crc32: number;
  isDeflated: boolean;
  /** Offset of its data in the archive. */
  start: number;
}

/**
 * Lists the files of a ZIP archive and checks every header (decisions.md "Resources", "Skill archive"). Metadata of operating
 * systems is left out.
 * @throws ServiceError `invalid_skill_bundle`, or `skill_bundle_too_large` as soon as there are too many entries
 */
export async function listFiles(archive: FileHandle, size: number): Promise<ZippedFile[]> {
  try {
    return await list(archive, size);
  } catch (error) {
    // yauzl reports a bad archive with a plain error. An error with `syscall` comes from our file system: it is not the
    // client's doing.
    if (!(error instanceof Error) || error.name === 'ServiceError' || 'syscall' in error) throw error;
    throw invalidBundle(`The archive cannot be read: ${error.message}`);
  }
}

async function list(archive: FileHandle, size: number): Promise<ZippedFile[]> {
  const zip = await fromRandomAccessReaderPromise(new HandleReader(archive, size), size, {
    autoClose: false,
    decodeStrings: false,
    validateEntrySizes: false,
  });
  const files: ZippedFile[] = [];
  const tree = new PathTree();
  let entries = 0;
  let dropped = 0;
  for await (const entry of zip.eachEntry()) {
    const path = entryName(entry);
    const segments = safeSegments(path);
    // An entry named "." is the package's root folder.
    const isDropped = segments.length === 0 || isSystemMetadata(segments);
    if (isDropped) dropped += 1;
    else entries += 1;
    if (entries > MAX_ENTRIES || entries + dropped > MAX_ENTRIES_WITH_DROPPED) throw tooManyEntries();
    if (isDropped) continue;
    const isFile = checkKind(entry, path);
    tree.add(segments, isFile);
    if (tree.size > MAX_ENTRIES) throw tooManyEntries();
    if (isFile) files.push(await locate(zip, entry, segments));
  }
  refuseOverlaps(files);
  return files;
}

function tooManyEntries(): Error {
  return bundleTooLarge(`The archive has more than ${MAX_ENTRIES} entries, folders included.`);
}

/** Reads by offset and rejects offsets outside the file: `fs.read` throws on those, and no caller could catch it. */
class HandleReader extends RandomAccessReader {
  constructor(
    private readonly handle: FileHandle,
    private readonly size: number,
  ) {
    super();
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null, bytesRead?: number) => void,
  ): void {
    if (!Number.isSafeInteger(position) || position < 0 || position + length > this.size) {
      setImmediate(callback, new Error('a record lies outside the file'));
    } else {
      read(this.handle.fd, buffer, offset, length, position, callback);
    }
  }
}

/** Returns true for a file, false for a folder. Any other type is refused. */
function checkKind(entry: Entry, path: string): boolean {
  const refuse = (rule: string): Error => invalidBundle(`The entry ${quoted(path)} ${rule}.`);
  const type = (entry.externalFileAttributes >>> 16) & FILE_TYPE;
  if (type === 0xa000) throw refuse('is a symbolic link; links are not allowed');
  if (type !== 0 && type !== REGULAR && type !== DIRECTORY) throw refuse('is neither a file nor a folder');
  if ((entry.generalPurposeBitFlag & ENCRYPTED_FLAGS) !== 0) throw refuse('is encrypted');
  if (path.endsWith('/') || type === DIRECTORY) {
    if (entry.uncompressedSize !== 0) throw refuse('is a folder that has content');
    return false;
  }
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    throw refuse(`is compressed by method ${entry.compressionMethod}; only "stored" and "deflate" are supported`);
  }
  if (entry.compressionMethod === STORED && entry.compressedSize !== entry.uncompressedSize) throw sizeMismatch(path);
  return true;
}

async function locate(zip: ZipFile, entry: Entry, segments: string[]): Promise<ZippedFile> {
  const path = segments.join('/');
  const local = await zip.readLocalFileHeaderPromise(entry);
  if (!local.fileName.equals(entry.fileNameRaw)) {
    throw invalidBundle(`The entry ${quoted(path)} has another name in its local header.`);
  }
  if (contradicts(local, entry)) throw sizeMismatch(path);
  return {
    segments,
    path,
    size: entry.uncompressedSize,
    compressedSize: entry.compressedSize,
    crc32: entry.crc32,
    isDeflated: entry.compressionMethod === DEFLATED,
    start: local.fileDataStart,
  };
}

/**
 * The local header does not have sizes that follow the data or are in a ZIP64 field: then there is nothing to compare.
 */
function contradicts(local: LocalFileHeader, entry: Entry): boolean {
  if (local.compressionMethod !== entry.compressionMethod) return true;
  if ((local.generalPurposeBitFlag & DATA_DESCRIPTOR_FLAG) !== 0) return false;
  return (
    (local.compressedSize !== IN_ZIP64_FIELD && local.compressedSize !== entry.compressedSize) ||
    (local.uncompressedSize !== IN_ZIP64_FIELD && local.uncompressedSize !== entry.uncompressedSize)
  );
}

/**
 * In a zip bomb the entries share their data: a small archive unpacks to a huge one. No packer writes such archives.
 */
function refuseOverlaps(files: ZippedFile[]): void {
  const byStart = files.filter((file) => file.compressedSize > 0).sort((a, b) => a.start - b.start);
  for (const [index, file] of byStart.entries()) {
    const next = byStart[index + 1];
    if (next !== undefined && file.start + file.compressedSize > next.start) {
      throw invalidBundle(`The entries ${quoted(file.path)} and ${quoted(next.path)} overlap.`);
    }
  }
}

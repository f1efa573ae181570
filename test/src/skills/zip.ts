import { expect } from 'chai';
import { ServiceError } from '../../../src/platform/errors.js';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { readBundle, type Bundle } from '../../../src/skills/bundle.js';

/** One entry of a handmade archive: what a packer writes, and every way to write it wrongly. */
export interface ZipEntry {
  name: string | Buffer;
  content?: string | Buffer;
  /** Compressed data as it is, instead of what `content` gives. */
  data?: Buffer;
  method?: number;
  flags?: number;
  mode?: number;
  /** Sizes and checksum that follow the data, as in Finder's and streaming packers' archives. */
  dataDescriptor?: boolean;
  /** Sizes in the ZIP64 field of both headers. */
  zip64?: boolean;
  extra?: Buffer;
  localName?: string;
  declaredSize?: number;
  declaredCrc?: number;
  /** Points at the local header of the entry of this index instead of one of its own. */
  sharesDataOf?: number;
}

const IN_ZIP64 = 0xffffffff;

/** An archive of `entries` in their order. */
export function zip(entries: ZipEntry[], { zip64End = false, comment = '' } = {}): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  const offsets: number[] = [];
  let offset = 0;
  for (const entry of entries) {
    const record = recordOf(entry);
    offsets.push(entry.sharesDataOf === undefined ? offset : offsets[entry.sharesDataOf]!);
    directory.push(directoryHeader(entry, record, offsets.at(-1)!));
    if (entry.sharesDataOf !== undefined) continue;
    const local = Buffer.concat([localHeader(entry, record), record.data, descriptor(entry, record)]);
    parts.push(local);
    offset += local.length;
  }
  const records = Buffer.concat(directory);
  return Buffer.concat([...parts, records, end(entries.length, records.length, offset, zip64End, comment)]);
}

interface Record {
  name: Buffer;
  data: Buffer;
  size: number;
  crc: number;
  method: number;
  flags: number;
}

/** Several entries share a large content, which is compressed once. */
const deflated = new WeakMap<Buffer, Buffer>();

function deflate(content: Buffer): Buffer {
  const known = deflated.get(content) ?? deflateRawSync(content);
  deflated.set(content, known);
  return known;
}

function recordOf(entry: ZipEntry): Record {
  const content = Buffer.isBuffer(entry.content) ? entry.content : Buffer.from(entry.content ?? '');
  const method = entry.method ?? (content.length === 0 ? 0 : 8);
  return {
    name: Buffer.from(entry.name),
    data: entry.data ?? (method === 8 ? deflate(content) : content),
    size: entry.declaredSize ?? content.length,
    crc: entry.declaredCrc ?? crc32(content),
    method,
    flags: (entry.flags ?? 0x800) | (entry.dataDescriptor === true ? 0x8 : 0),
  };
}

function localHeader(entry: ZipEntry, { name, data, size, crc, method, flags }: Record): Buffer {
  const header = Buffer.alloc(30);
  const localName = Buffer.from(entry.localName ?? name);
  const later = entry.dataDescriptor === true;
  const extra = entry.zip64 === true ? zip64Field(later ? 0 : size, later ? 0 : data.length) : Buffer.alloc(0);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(entry.zip64 === true ? 45 : 20, 4);
  header.writeUInt16LE(flags, 6);
  header.writeUInt16LE(method, 8);
  header.writeUInt32LE(later ? 0 : crc, 14);
  header.writeUInt32LE(entry.zip64 === true ? IN_ZIP64 : later ? 0 : data.length, 18);
  header.writeUInt32LE(entry.zip64 === true ? IN_ZIP64 : later ? 0 : size, 22);
  header.writeUInt16LE(localName.length, 26);
  header.writeUInt16LE(extra.length, 28);
  return Buffer.concat([header, localName, extra]);
}

function descriptor(entry: ZipEntry, { data, size, crc }: Record): Buffer {
  if (entry.dataDescriptor !== true) return Buffer.alloc(0);
  const record = Buffer.alloc(entry.zip64 === true ? 24 : 16);
  record.writeUInt32LE(0x08074b50, 0);
  record.writeUInt32LE(crc, 4);
  if (entry.zip64 === true) {
    record.writeBigUInt64LE(BigInt(data.length), 8);
    record.writeBigUInt64LE(BigInt(size), 16);
  } else {
    record.writeUInt32LE(data.length, 8);
    record.writeUInt32LE(size, 12);
  }
  return record;
}

function directoryHeader(entry: ZipEntry, { name, data, size, crc, method, flags }: Record, offset: number): Buffer {
  const header = Buffer.alloc(46);
  const extra = Buffer.concat([
    entry.zip64 === true ? zip64Field(size, data.length, offset) : Buffer.alloc(0),
    entry.extra ?? Buffer.alloc(0),
  ]);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE((3 << 8) | 20, 4);
  header.writeUInt16LE(entry.zip64 === true ? 45 : 20, 6);
  header.writeUInt16LE(flags, 8);
  header.writeUInt16LE(method, 10);
  header.writeUInt32LE(crc, 16);
  header.writeUInt32LE(entry.zip64 === true ? IN_ZIP64 : data.length, 20);
  header.writeUInt32LE(entry.zip64 === true ? IN_ZIP64 : size, 24);
  header.writeUInt16LE(name.length, 28);
  header.writeUInt16LE(extra.length, 30);
  header.writeUInt32LE((entry.mode ?? 0) * 0x10000, 38);
  header.writeUInt32LE(entry.zip64 === true ? IN_ZIP64 : offset, 42);
  return Buffer.concat([header, name, extra]);
}

function zip64Field(...values: number[]): Buffer {
  const field = Buffer.alloc(4 + 8 * values.length);
  field.writeUInt16LE(1, 0);
  field.writeUInt16LE(8 * values.length, 2);
  for (const [index, value] of values.entries()) field.writeBigUInt64LE(BigInt(value), 4 + 8 * index);
  return field;
}

function end(count: number, size: number, offset: number, zip64End: boolean, comment: string): Buffer {
  const record = Buffer.alloc(22);
  record.writeUInt32LE(0x06054b50, 0);
  record.writeUInt16LE(zip64End ? 0xffff : count, 8);
  record.writeUInt16LE(zip64End ? 0xffff : count, 10);
  record.writeUInt32LE(zip64End ? IN_ZIP64 : size, 12);
  record.writeUInt32LE(zip64End ? IN_ZIP64 : offset, 16);
  record.writeUInt16LE(comment.length, 20);
  const plain = Buffer.concat([record, Buffer.from(comment)]);
  if (!zip64End) return plain;
  const end64 = Buffer.alloc(56 + 20);
  end64.writeUInt32LE(0x06064b50, 0);
  end64.writeBigUInt64LE(44n, 4);
  end64.writeUInt16LE(45, 12);
  end64.writeUInt16LE(45, 14);
  end64.writeBigUInt64LE(BigInt(count), 24);
  end64.writeBigUInt64LE(BigInt(count), 32);
  end64.writeBigUInt64LE(BigInt(size), 40);
  end64.writeBigUInt64LE(BigInt(offset), 48);
  end64.writeUInt32LE(0x07064b50, 56);
  end64.writeBigUInt64LE(BigInt(offset + size), 64);
  end64.writeUInt32LE(1, 72);
  return Buffer.concat([end64, plain]);
}

/** A SKILL.md of `name`. */
export function skillMd(name = 'demo', description = 'Shows how.', body = 'Do it.\n'): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}`;
}

/** The one entry that each package needs. */
export const SKILL: ZipEntry = { name: 'SKILL.md', content: skillMd() };

/** A temporary folder that is gone after `work`. */
export async function inTempFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'skill-test-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** What `readBundle` makes of a package, with the normalised archive as bytes. */
export async function bundleOf(content: Buffer | string, filename = 'demo.zip'): Promise<Bundle & { bytes: Buffer }> {
  return inTempFolder(async (folder) => {
    const path = join(folder, 'package');
    await writeFile(path, content);
    const bundle = await readBundle(path, filename);
    return { ...bundle, bytes: Buffer.concat(await bundle.archive().toArray()) };
  });
}

/** Small files, none of which a package needs. */
export const filler = (count: number): ZipEntry[] =>
  Array.from({ length: count }, (_, index) => ({ name: `f${index}.txt`, content: 'x' }));

export const pathsOf = (bundle: Bundle): string[] => bundle.files.map((file) => file.path);

/** The error with which a package is refused. */
export async function refusalOf(content: Buffer | string, filename?: string): Promise<ServiceError> {
  const answer: unknown = await bundleOf(content, filename).catch((error: unknown) => error);
  expect(answer).to.be.instanceOf(ServiceError);
  return answer as ServiceError;
}

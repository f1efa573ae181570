/**
 * Measures how fast hostile skill packages are refused, and the memory this needs: `npx tsx bench/zip-bomb.ts`. Each
 * package has its own process; `peak` is the growth of its resident memory since the package was opened.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32, createDeflateRaw } from 'node:zlib';
import { readBundle } from '../src/skills/bundle.js';

const MIB = 1024 * 1024;
const SKILL_MD = Buffer.from('---\nname: bomb\n---\n');

interface Entry {
  name: string;
  /** Compressed data and what it unpacks to. */
  data: Buffer;
  size: number;
  crc: number;
  method: number;
}

const stored = (name: string, data: Buffer): Entry => ({ name, data, size: data.length, crc: crc32(data), method: 0 });

/** Gigabytes of zeros, deflated to a thousandth of their size. */
async function zeros(name: string, size: number, declared = size): Promise<Entry> {
  const deflate = createDeflateRaw({ level: 9 });
  const block = Buffer.alloc(MIB);
  const chunks: Buffer[] = [];
  deflate.on('data', (chunk: Buffer) => chunks.push(chunk));
  let crc = 0;
  for (let left = size; left > 0; left -= MIB) {
    const piece = block.subarray(0, Math.min(MIB, left));
    crc = crc32(piece, crc);
    await new Promise((resolve) => deflate.write(piece, resolve));
  }
  deflate.end();
  await once(deflate, 'end');
  return { name, data: Buffer.concat(chunks), size: declared, crc, method: 8 };
}

async function writeZip(path: string, entries: Entry[]): Promise<number> {
  const file = await open(path, 'w');
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    await file.write(Buffer.concat([header(0x04034b50, entry, name.length, 0), name]));
    await file.write(entry.data);
    directory.push(header(0x02014b50, entry, name.length, offset), name);
    offset += 30 + name.length + entry.data.length;
  }
  const size = await writeEnd(file, Buffer.concat(directory), entries.length, offset);
  await file.close();
  return size;
}

function header(signature: number, { data, size, crc, method }: Entry, nameLength: number, offset: number): Buffer {
  const isLocal = signature === 0x04034b50;
  const bytes = Buffer.alloc(isLocal ? 30 : 46);
  const at = isLocal ? 4 : 6;
  bytes.writeUInt32LE(signature, 0);
  bytes.writeUInt16LE(20, at);
  bytes.writeUInt16LE(method, at + 4);
  bytes.writeUInt32LE(crc, at + 10);
  bytes.writeUInt32LE(data.length, at + 14);
  bytes.writeUInt32LE(Math.min(size, 0xfffffffe), at + 18);
  bytes.writeUInt16LE(nameLength, at + 22);
  if (!isLocal) bytes.writeUInt32LE(offset, 42);
  return bytes;
}

async function writeEnd(file: FileHandle, directory: Buffer, count: number, offset: number): Promise<number> {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  await file.write(Buffer.concat([directory, end]));
  return offset + directory.length + end.length;
}

const skill = stored('SKILL.md', SKILL_MD);
const CASES: Record<string, () => Promise<Entry[]>> = {
  'one entry of 10 GiB': async () => [skill, await zeros('bomb', 10 * 1024 * MIB)],
  'the same, said to be 1 KiB': async () => [skill, await zeros('bomb', 1024 * MIB, 1024)],
  '10 GiB as SKILL.md': async () => [await zeros('SKILL.md', 10 * 1024 * MIB)],
  '410 entries of 25 MiB (10 GiB)': async () => {
    const one = await zeros('', 25 * MIB);
    return [skill, ...Array.from({ length: 410 }, (_, index) => ({ ...one, name: `f${index}` }))];
  },
  '25 MiB + 1': async () => [skill, await zeros('big', 25 * MIB + 1)],
  '200 MiB + 1': async () => {
    const one = await zeros('', 25 * MIB);
    const last = await zeros('last', 1 + SKILL_MD.length);
    const all = Array.from({ length: 8 }, (_, index) => ({ ...one, name: `f${index}` }));
    all[7] = { ...(await zeros('f7', 25 * MIB - 2 * SKILL_MD.length)) };
    return [skill, ...all, last];
  },
  '200 MiB, a skill': async () => {
    const one = await zeros('', 25 * MIB);
    const all = Array.from({ length: 7 }, (_, index) => ({ ...one, name: `f${index}` }));
    return [skill, ...all, await zeros('f7', 25 * MIB - SKILL_MD.length)];
  },
  '501 entries': async () => Array.from({ length: 501 }, (_, index) => stored(`f${index}`, Buffer.alloc(1))),
  '65,535 entries': async () => {
    const one = stored('', Buffer.alloc(0));
    return Array.from({ length: 65_535 }, (_, index) => ({ ...one, name: `${index}` }));
  },
  'SKILL.md of 32 KiB + 1': async () => [stored('SKILL.md', Buffer.concat([SKILL_MD, Buffer.alloc(32 * 1024)]))],
};

async function measure(path: string): Promise<void> {
  global.gc?.();
  const before = process.memoryUsage().rss;
  let peak = before;
  const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5);
  const start = performance.now();
  const outcome = await readBundle(path, 'bomb.zip').then(
    async (bundle) => {
      let bytes = 0;
      for await (const chunk of bundle.archive()) bytes += (chunk as Buffer).length;
      return `a skill of ${bytes} bytes`;
    },
    (error: Error & { type?: string }) => `${error.type}: ${error.message}`,
  );
  const ms = performance.now() - start;
  clearInterval(timer);
  peak = Math.max(peak, process.memoryUsage().rss);
  console.log(`${ms.toFixed(0).padStart(6)} ms  +${((peak - before) / MIB).toFixed(0)} MiB  ${outcome}`);
}

async function main(): Promise<void> {
  if (process.argv[2] === 'measure') return measure(process.argv[3]!);
  const folder = await mkdtemp(join(tmpdir(), 'zip-bomb-'));
  try {
    for (const [name, entries] of Object.entries(CASES)) {
      const path = join(folder, 'package');
      const size = await writeZip(path, await entries());
      const { stdout } = await promisify(execFile)(process.execPath, [
        ...['--expose-gc', '--import', 'tsx', import.meta.filename, 'measure', path],
      ]);
      console.log(`${name.padEnd(32)} ${(size / MIB).toFixed(2).padStart(6)} MiB sent ${stdout.trimEnd()}`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

await main();

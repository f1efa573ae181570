import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { crc32, createDeflateRaw } from 'node:zlib';
import { MIB } from '../../src/platform/units.js';
import { zip, type ZipEntry } from '../../test/src/skills/zip.js';
import { scenario } from '../scenario.js';

const SKILL_MD = Buffer.from('---\nname: bomb\n---\n');
const MAX_DECLARED_SIZE = 0xfffffffe;
const MEASURE = fileURLToPath(new URL('../read-package.ts', import.meta.url));

export default scenario({
  measures: 'how fast hostile skill packages are refused, each by a process of its own, and how far its memory grows',
  options: {},
  async run(bench) {
    const folder = mkdtempSync(join(tmpdir(), 'zip-bomb-'));
    bench.atEnd(() => rmSync(folder, { recursive: true }));
    for (const [name, entries] of Object.entries(await packages())) {
      const path = join(folder, 'package');
      const content = zip(entries);
      writeFileSync(path, content);
      const args = ['--expose-gc', '--import', 'tsx', MEASURE, path];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const size = (content.length / MIB).toFixed(2).padStart(6);
      console.log(`${name.padEnd(32)} ${size} MiB sent ${stdout.trimEnd()}`);
    }
  },
});

const stored = (name: string, content: Buffer): ZipEntry => ({ name, content, method: 0 });

/** Gigabytes of zeros, deflated to a thousandth of their size. */
async function zeros(size: number): Promise<Omit<ZipEntry, 'name'>> {
  const deflate = createDeflateRaw({ level: 9 });
  const block = Buffer.alloc(MIB);
  const chunks: Buffer[] = [];
  deflate.on('data', (chunk: Buffer) => chunks.push(chunk));
  let declaredCrc = 0;
  for (let left = size; left > 0; left -= MIB) {
    const piece = block.subarray(0, Math.min(MIB, left));
    declaredCrc = crc32(piece, declaredCrc);
    await new Promise((resolve) => deflate.write(piece, resolve));
  }
  deflate.end();
  await once(deflate, 'end');
  return { data: Buffer.concat(chunks), method: 8, declaredSize: Math.min(size, MAX_DECLARED_SIZE), declaredCrc };
}

async function packages(): Promise<Record<string, ZipEntry[]>> {
  const skill = stored('SKILL.md', SKILL_MD);
  const huge = await zeros(10 * 1024 * MIB);
  const largest = await zeros(25 * MIB);
  const many = (count: number, entry: Omit<ZipEntry, 'name'>): ZipEntry[] =>
    Array.from({ length: count }, (_, index) => ({ ...entry, name: `f${index}` }));
  const almostFull = [...many(7, largest), { ...(await zeros(25 * MIB - 2 * SKILL_MD.length)), name: 'last' }];
  return {
    'one entry of 10 GiB': [skill, { ...huge, name: 'bomb' }],
    'the same, said to be 1 KiB': [skill, { ...huge, name: 'bomb', declaredSize: 1024 }],
    '10 GiB as SKILL.md': [{ ...huge, name: 'SKILL.md' }],
    '410 entries of 25 MiB (10 GiB)': [skill, ...many(410, largest)],
    '25 MiB + 1': [skill, { ...(await zeros(25 * MIB + 1)), name: 'big' }],
    '200 MiB + 1': [skill, ...almostFull, stored('more', Buffer.alloc(SKILL_MD.length + 1))],
    '200 MiB, a skill': [skill, ...almostFull, stored('more', Buffer.alloc(SKILL_MD.length))],
    '501 entries': many(501, stored('', Buffer.alloc(1))),
    '65,535 entries': many(65_535, stored('', Buffer.alloc(0))),
    'SKILL.md of 32 KiB + 1': [stored('SKILL.md', Buffer.concat([SKILL_MD, Buffer.alloc(32 * 1024)]))],
  };
}

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
    for (const [name, entries] of Object.entries(CASES)) {
      const path = join(folder, 'package');
      const content = zip(await entries());
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
async function zeros(name: string, size: number, declaredSize = Math.min(size, MAX_DECLARED_SIZE)): Promise<ZipEntry> {
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
  return { name, data: Buffer.concat(chunks), method: 8, declaredSize, declaredCrc };
}
const skill = stored('SKILL.md', SKILL_MD);
const CASES: Record<string, () => Promise<ZipEntry[]>> = {
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
    const all = Array.from({ length: 7 }, (_, index) => ({ ...one, name: `f${index}` }));
    return [skill, ...all, await zeros('f7', 25 * MIB - 2 * SKILL_MD.length), last];
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

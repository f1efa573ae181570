import { expect } from 'chai';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { openPromise } from 'yauzl';
import {
  directoryHeader,
  directorySize,
  dosTime,
  endRecord,
  endSize,
  localHeader,
  localSize,
  type ZipEntry,
} from '../../../src/files/zip.js';

const entryOf = (path: string, content: Buffer, mtime = Date.UTC(2026, 10, 21, 9, 48, 4)): ZipEntry => ({
  path,
  size: content.length,
  storedSize: content.length,
  isDeflated: false,
  crc32: crc32(content),
  mode: 0o100755,
  time: dosTime(mtime),
});

describe('a ZIP archive', () => {
  it('a ZIP archive may be longer than 4 GiB: the offsets beyond it are in ZIP64 records', async () => {
    const path = join(tmpdir(), `zip64-${process.pid}.zip`);
    const file = await open(path, 'w+');
    const content = Buffer.from('behind four gigabytes');
    const [near, far] = [entryOf('near.txt', content), entryOf('far.txt', content)];
    const start = 5 * 2 ** 30;
    try {
      // Between the two entries the file is sparse.
      await file.write(Buffer.concat([localHeader(near), content]), 0, null, 0);
      await file.write(Buffer.concat([localHeader(far), content]), 0, null, start);
      const directory = Buffer.concat([directoryHeader(near, 0), directoryHeader(far, start)]);
      const directoryStart = start + localSize(far) + far.storedSize;
      expect(directory.length).to.equal(directorySize(near, 0) + directorySize(far, start));
      const end = endRecord(2, directory.length, directoryStart);
      expect(end.length).to.equal(endSize(directoryStart));
      await file.write(Buffer.concat([directory, end]), 0, null, directoryStart);
      await file.close();

      const zip = await openPromise(path, { autoClose: false });
      const found: Record<string, string> = {};
      for await (const entry of zip.eachEntry()) {
        const chunks: Buffer[] = [];
        for await (const chunk of await zip.openReadStreamPromise(entry)) chunks.push(chunk as Buffer);
        found[entry.fileName] = Buffer.concat(chunks).toString();
        expect(entry.externalFileAttributes >>> 16).to.equal(0o100755);
      }
      zip.close();
      expect(found).to.deep.equal({ 'near.txt': content.toString(), 'far.txt': content.toString() });
    } finally {
      await rm(path, { force: true });
    }
  });

  it('a ZIP archive has times from 1980 to 2107', () => {
    const yearOf = (ms: number): number => (dosTime(ms) >>> 25) + 1980;
    expect([0, Date.UTC(2026, 0), Date.UTC(3000, 0)].map(yearOf)).to.deep.equal([1980, 2026, 2107]);
    for (const ms of [-1e15, 8.64e15]) expect(dosTime(ms)).to.be.within(0, 0xffffffff);
  });
});

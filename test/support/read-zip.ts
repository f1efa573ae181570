import { crc32 } from 'node:zlib';
import { fromBufferPromise } from 'yauzl';

export interface ReadEntry {
  mode: number;
  time: Date;
  /** Null of a folder. */
  content: Buffer | null;
}

/** The entries of an archive by name, in its order. @throws Error if a size or checksum is not that of the content */
export async function readZip(bytes: Buffer): Promise<Record<string, ReadEntry>> {
  const zip = await fromBufferPromise(bytes);
  const found: Record<string, ReadEntry> = {};
  for await (const entry of zip.eachEntry()) {
    const chunks: Buffer[] = [];
    for await (const chunk of await zip.openReadStreamPromise(entry)) chunks.push(chunk as Buffer);
    const content = Buffer.concat(chunks);
    if (crc32(content) !== entry.crc32) throw new Error(`the checksum of ${entry.fileName} is wrong`);
    if (entry.fileName in found) throw new Error(`there are two entries ${entry.fileName}`);
    found[entry.fileName] = {
      mode: entry.externalFileAttributes >>> 16,
      time: entry.getLastModDate({ timezone: 'UTC' }),
      content: entry.fileName.endsWith('/') ? null : content,
    };
  }
  return found;
}

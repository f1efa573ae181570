import { crc32, deflateRawSync } from 'node:zlib';

const UTF8_NAMES = 0x0800;
const DEFLATE = 8;
const VERSION = 20;
/** 1 January 1980: the same files make the same bytes. */
const NO_DATE = 0x0021_0000;

/** The bytes of a ZIP of these files. Names have slashes. Less than 4 GiB and 65,536 files. */
export function zip(files: { name: string; content: Uint8Array }[]): Uint8Array {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content } of files) {
    const [path, packed] = [Buffer.from(name), deflateRawSync(content)];
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(VERSION, 0);
    fields.writeUInt16LE(UTF8_NAMES, 2);
    fields.writeUInt16LE(DEFLATE, 4);
    fields.writeUInt32LE(NO_DATE, 6);
    fields.writeUInt32LE(crc32(content), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(content.length, 18);
    fields.writeUInt16LE(path.length, 22);
    parts.push(Buffer.from('PK\u0003\u0004'), fields, path, packed);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\u0001\u0002'), uint16(VERSION), fields, rest, path);
    offset += 30 + path.length + packed.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(entries.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, entries, Buffer.from('PK\u0005\u0006'), end]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

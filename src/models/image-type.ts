import { MIB } from '../platform/units.js';

export type ImageType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';

/** The API's limit for one image is 5 MiB of base64. */
export const MAX_IMAGE_BYTES = (5 * MIB * 3) / 4;
const MAX_PIXELS_A_SIDE = 8000;
const HEAD_BYTES = 64 * 1024;

/**
 * Detects the type of an image that the model's API accepts; null for anything else. It checks the bytes: one wrong
 * media type, or one image with too many pixels, makes the API refuse every further request of the session. Sizes are
 * parsed here, because the library `image-size` searches a damaged JPEG byte by byte (0.6 s for 4 MB).
 */
export function imageTypeOf(bytes: Buffer): ImageType | null {
  const type = signatureOf(bytes);
  if (type === null) return null;
  const size = pixelsOf(bytes, type);
  return size !== null && Math.min(...size) >= 1 && Math.max(...size) <= MAX_PIXELS_A_SIDE ? type : null;
}

/** As `imageTypeOf`, but reads only the necessary bytes. A JPEG may have long metadata before its size. */
export async function readImageType(
  size: number,
  readStart: (maxBytes: number) => Promise<Buffer>,
): Promise<ImageType | null> {
  const head = await readStart(HEAD_BYTES);
  const isWhole = size <= HEAD_BYTES || signatureOf(head) !== 'image/jpeg';
  return imageTypeOf(head) ?? (isWhole ? null : imageTypeOf(await readStart(size)));
}

function signatureOf(bytes: Buffer): ImageType | null {
  const start = bytes.toString('latin1', 0, 12);
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(start)) return 'image/gif';
  if (start.startsWith('RIFF') && start.endsWith('WEBP')) return 'image/webp';
  return null;
}

function pixelsOf(bytes: Buffer, type: ImageType): [number, number] | null {
  if (bytes.length < 30) return null;
  switch (type) {
    case 'image/png':
      return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
    case 'image/gif':
      return [bytes.readUInt16LE(6), bytes.readUInt16LE(8)];
    case 'image/webp':
      return webpSize(bytes);
    case 'image/jpeg':
      return jpegSize(bytes);
  }
}

function webpSize(bytes: Buffer): [number, number] | null {
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff];
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return [(bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1];
    }
    case 'VP8X':
      return [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1];
    default:
      return null;
  }
}

/** Walks the segments to the frame header (SOF), which holds the size. */
function jpegSize(bytes: Buffer): [number, number] | null {
  for (let at = 2; at + 9 < bytes.length;) {
    if (bytes[at] !== 0xff) return null;
    const marker = bytes[at + 1]!;
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)];
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return null;
}

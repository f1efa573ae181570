import { isObject, refuse } from './refusal.js';

const MAX_IMAGE_BYTES = 5 * 1024 * 1024;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** How each image format begins. */
const IMAGES: Record<string, (start: Buffer) => boolean> = {
  'image/jpeg': (start) => start.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff])),
  'image/png': (start) => start.subarray(0, 4).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47])),
  'image/gif': (start) => start.subarray(0, 4).toString('latin1') === 'GIF8',
  'image/webp': (start) => start.subarray(0, 4).toString() === 'RIFF' && start.subarray(8, 12).toString() === 'WEBP',
};

/** Refuses images and documents that the real API would not take. Sources by url or file id pass. */
export function checkMedia({ type, source }: Record<string, unknown>, path: string): void {
  if (!isObject(source)) refuse(`${path}.${String(type)}.source: Field required`);
  if (type === 'document' && source.type === 'text') {
    if (source.media_type !== 'text/plain')
      refuse(`${path}.document.source.text.media_type: Input should be 'text/plain'`);
    if (typeof source.data !== 'string' || source.data === '') refuse(`${path}.document.source: text cannot be empty`);
    return;
  }
  if (source.type !== 'base64') return;
  const where = `${path}.${String(type)}.source.base64`;
  const data = source.data;
  if (typeof data !== 'string' || data.length % 4 !== 0 || !BASE64.test(data)) refuse(`${where}: invalid base64 data`);
  if (type === 'image') checkImage(source.media_type, data, where);
  else checkPdf(source.media_type, data, where);
}

function checkImage(mediaType: unknown, data: string, path: string): void {
  const matches = IMAGES[String(mediaType)];
  if (matches === undefined) {
    refuse(`${path}.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`);
  }
  if (data === '') refuse(`${path}: image cannot be empty`);
  const bytes = Buffer.byteLength(data, 'base64');
  if (bytes > MAX_IMAGE_BYTES) {
    refuse(`${path}: image exceeds 5 MB maximum: ${bytes} bytes > ${MAX_IMAGE_BYTES} bytes`);
  }
  if (!matches(Buffer.from(data.slice(0, 32), 'base64'))) {
    const real = Object.keys(IMAGES).find((one) => IMAGES[one]?.(Buffer.from(data.slice(0, 32), 'base64')));
    if (real === undefined) refuse('Could not process image');
    refuse(`${path}.data: Image does not match the provided media type ${String(mediaType)}: it appears to be ${real}`);
  }
}

function checkPdf(mediaType: unknown, data: string, path: string): void {
  if (mediaType !== 'application/pdf') refuse(`${path}.media_type: Input should be 'application/pdf'`);
  if (!Buffer.from(data.slice(0, 2048), 'base64').toString('latin1').includes('%PDF-')) {
    refuse('The PDF specified was not valid.');
  }
}

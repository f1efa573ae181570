import { imageTypeOf, MAX_IMAGE_BYTES, type ImageType } from '../../../src/files/image-type.js';

const MAX_BASE64_LENGTH = (MAX_IMAGE_BYTES / 3) * 4;

/** An image in base64 that the model's API takes, or null. */
export function modelImage(base64: unknown): { bytes: Buffer; mediaType: ImageType } | null {
  if (typeof base64 !== 'string' || base64.length > MAX_BASE64_LENGTH) return null;
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64) || base64.length % 4 !== 0) return null;
  const bytes = Buffer.from(base64, 'base64');
  const mediaType = imageTypeOf(bytes);
  return mediaType === null ? null : { bytes, mediaType };
}

import type { Context } from 'koa';
import type { Readable } from 'node:stream';
import { contentDisposition, mimeTypeOf } from '../../../src/files/filename.js';

/** Of every answer with bytes of a client: whatever type they claim to be, a browser must not run them on this origin. */
export const DOWNLOAD_HEADERS = {
  'Cache-Control': 'private, no-cache',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; sandbox",
};

/** The schema of such an answer. */
export const BYTES = { type: 'string', format: 'binary', description: 'Bytes.' } as const;

/** The answer of an operation that sends one file of a tree. */
export const FILE_BYTES = {
  status: 200,
  description: 'The bytes of the file, with a type found from the extension of its name.',
  mediaType: '*/*',
  schema: BYTES,
  example: 'the bytes of the file',
  headers: { 'Content-Disposition': '`attachment` with the name of the file.' },
} as const;

/** Sends a whole file of `length` bytes under the last name of its path. */
export function sendFile(ctx: Context, path: string, content: Readable, length: number): void {
  const filename = path.slice(path.lastIndexOf('/') + 1);
  ctx.status = 200;
  ctx.set(DOWNLOAD_HEADERS);
  ctx.set({ 'Content-Type': mimeTypeOf(filename), 'Content-Disposition': contentDisposition(filename) });
  sendContent(ctx, content, length);
}

/** Sends a content of `length` bytes; for HEAD its length alone. */
export function sendContent(ctx: Context, content: Readable, length: number): void {
  ctx.state.isDownload = true;
  if (ctx.method === 'HEAD') content.destroy();
  else ctx.body = content;
  ctx.length = length;
}

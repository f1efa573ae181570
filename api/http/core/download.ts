import type { Context } from 'koa';
import type { Readable } from 'node:stream';

/** Of every answer with bytes of a client: whatever type they claim to be, a browser must not run them on this origin. */
export const DOWNLOAD_HEADERS = {
  'Cache-Control': 'private, no-cache',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; sandbox",
};

/** The schema of such an answer. */
export const BYTES = { type: 'string', format: 'binary', description: 'Bytes.' } as const;

/** Sends a content of `length` bytes; for HEAD its length alone. */
export function sendContent(ctx: Context, content: Readable, length: number): void {
  ctx.state.isDownload = true;
  if (ctx.method === 'HEAD') content.destroy();
  else ctx.body = content;
  ctx.length = length;
}

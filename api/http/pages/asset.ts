import type { Context } from 'koa';
import { extname } from 'node:path';
import { gzipSync } from 'node:zlib';

export interface Asset {
  content: Buffer;
  compressed: Buffer;
}

export function compress(content: Buffer): Asset {
  return { content, compressed: gzipSync(content, { level: 9 }) };
}

/** Answers with the asset, compressed if the client accepts it. The type comes from the name. */
export function sendAsset(ctx: Context, name: string, { content, compressed }: Asset): void {
  ctx.type = extname(name);
  ctx.vary('Accept-Encoding');
  if (ctx.acceptsEncodings('gzip', 'identity') === 'gzip') {
    ctx.set('Content-Encoding', 'gzip');
    ctx.body = compressed;
  } else {
    ctx.body = content;
  }
}

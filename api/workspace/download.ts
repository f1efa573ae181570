import type { Context } from 'koa';
import { pipeline, Transform, type Readable } from 'node:stream';

/** Sends a content of `size` bytes. If it breaks off, the connection is closed: the client sees that it has not got all. */
export function sendDownload(ctx: Context, content: Readable, size: number): void {
  ctx.state.isDownload = true;
  ctx.status = 200;
  ctx.set({
    'Cache-Control': 'private, no-cache',
    // Whatever the type of a file, a browser must not run it on this origin.
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; sandbox",
  });
  if (ctx.method === 'HEAD') content.destroy();
  else ctx.body = whole(content, size);
  ctx.length = size;
}

/** Passes a content on, and fails at its end if that is too early. */
function whole(content: Readable, size: number): Readable {
  let missing = size;
  const checked = new Transform({
    transform(chunk: Buffer, _, done) {
      missing -= chunk.length;
      done(null, chunk);
    },
    flush(done) {
      done(missing === 0 ? null : new Error('an object is shorter than its workspace says'));
    },
  });
  // A failure of either destroys both, and Koa takes it from the body.
  return pipeline(content, checked, () => undefined);
}

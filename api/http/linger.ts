import type { Context } from 'koa';

const LINGER_MS = 5000;

/**
 * A response can come before the whole body has: the rest is read and dropped for a while, because closing the socket
 * under a client that still sends makes its kernel drop the response unread. Who sends for longer is cut off.
 */
export function lingerForBody(ctx: Context): void {
  const { req, res } = ctx;
  if (req.complete || req.destroyed) return;
  res.once('finish', () => {
    if (req.complete) return;
    req.resume();
    const cut = setTimeout(() => req.socket.destroy(), LINGER_MS);
    cut.unref();
    req.once('close', () => clearTimeout(cut));
    req.once('end', () => clearTimeout(cut));
  });
}

import type { Context } from 'koa';

const LINGER_MS = 5000;

/**
 * Reads and ignores the rest of the body for a while if the response is sent before the body is complete. If the server
 * closed the socket at once, the kernel of a client that still sends would drop the response unread. After LINGER_MS
 * the connection is closed.
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

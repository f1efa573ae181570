import type { Middleware } from 'koa';

const STALL_TIMEOUT_MS = 30_000;

/**
 * Closes the connection of a client that reads no byte of its response for 30 to 60 s (Node closes at the second
 * check), because the response stays in memory until then. Event streams have their own rule
 * (api/events/sse-connection).
 */
export function responseTimeout(timeoutMs = STALL_TIMEOUT_MS): Middleware {
  return async (ctx, next) => {
    await next();
    const { res } = ctx;
    if (ctx.respond === false || res.writableFinished) return;
    res.setTimeout(timeoutMs, () => res.destroy());
  };
}

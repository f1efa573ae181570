import type { Middleware } from 'koa';

const STALL_TIMEOUT_MS = 30_000;

/**
 * Cuts off a reader that takes no byte of its response for 30 to 60 s (Node notices at the second check): until then the
 * response stays in memory. Event streams have a rule of their own (api/events/sse-connection).
 */
export function responseTimeout(timeoutMs = STALL_TIMEOUT_MS): Middleware {
  return async (ctx, next) => {
    await next();
    const { res } = ctx;
    if (ctx.respond === false || res.writableFinished) return;
    res.setTimeout(timeoutMs, () => res.destroy());
  };
}

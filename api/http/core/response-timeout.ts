import type { Middleware } from 'koa';

const TIMEOUTS = {
  answerMs: 10_000,
  /** A download holds one piece of its file in memory, so its reader may pause for longer. */
  downloadMs: 60_000,
  checkMs: 1_000,
};
/** Several parts of the service, and the pipe of a body, wait for the end of a response. */
const MAX_LISTENERS = 20;

/**
 * Closes the connection of a client that reads no byte of its response for 10 s (decisions.md "Limits of work"), because an answer
 * stays in memory until then. Event streams have their own rule (api/events/sse-connection).
 */
export function responseTimeout({ answerMs, downloadMs, checkMs } = TIMEOUTS): Middleware {
  return async (ctx, next) => {
    const { res } = ctx;
    res.setMaxListeners(MAX_LISTENERS);
    await next();
    if (ctx.respond === false || res.writableFinished) return;
    const timeoutMs = ctx.state.isDownload === true ? downloadMs : answerMs;
    let readAt = Date.now();
    const check = setInterval(() => {
      // With nothing to send, the response waits for its content, not for its reader.
      if (res.writableLength === 0) readAt = Date.now();
      else if (Date.now() - readAt >= timeoutMs) res.destroy();
    }, checkMs);
    check.unref();
    res.on('drain', () => (readAt = Date.now()));
    res.once('close', () => clearInterval(check));
  };
}

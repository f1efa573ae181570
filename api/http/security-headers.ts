import helmet from 'koa-helmet';
import type { Middleware } from 'koa';

/** Answers of an API are data: nothing in them is to be run, framed or guessed at. */
export function securityHeaders(): Middleware {
  return helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    crossOriginResourcePolicy: { policy: 'cross-origin' },
    referrerPolicy: { policy: 'no-referrer' },
  });
}

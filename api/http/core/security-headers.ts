import helmet from 'koa-helmet';
import type { Middleware } from 'koa';

/** Responses of an API are data: browsers must not run, frame or sniff them. */
export function securityHeaders(): Middleware {
  return helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    crossOriginResourcePolicy: { policy: 'cross-origin' },
    referrerPolicy: { policy: 'no-referrer' },
  });
}

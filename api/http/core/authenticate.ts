import type { Middleware } from 'koa';
import { ServiceError } from '../../../src/platform/errors.js';
import type { KeyLookup } from '../../../src/projects/key-cache.js';

export function authenticate(lookup: KeyLookup): Middleware {
  return async (ctx, next) => {
    const [, key] = /^Bearer +(\S+) *$/i.exec(ctx.get('Authorization')) ?? [];
    const caller = key === undefined ? null : await lookup(key);
    if (caller === null) {
      throw new ServiceError(
        'authentication_error',
        'This needs a valid API key: send it as "Authorization: Bearer <API_KEY>".',
        undefined,
        { 'WWW-Authenticate': 'Bearer' },
      );
    }
    ctx.state.caller = caller;
    await next();
  };
}

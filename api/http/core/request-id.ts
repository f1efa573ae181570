import type { Middleware } from 'koa';
import { newId } from '../../../src/platform/ids.js';

/** Gives the request an id, or keeps the client's (contract.md §1). */
export function requestId(): Middleware {
  return async (ctx, next) => {
    const sent = ctx.get('X-Request-Id');
    const id = /^[A-Za-z0-9_-]{1,128}$/.test(sent) ? sent : newId('request');
    ctx.state.requestId = id;
    ctx.set('X-Request-Id', id);
    await next();
  };
}

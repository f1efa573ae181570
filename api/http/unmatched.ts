import type { Middleware } from 'koa';
import { ServiceError } from '../../src/platform/errors.js';

interface Matched {
  methods: string[];
}

/** Ends what no route took: 405 with `Allow` where the path is known, else 404; OPTIONS of a known path is answered. */
export function unmatched(): Middleware {
  return async (ctx) => {
    const matched = (ctx.matched as Matched[] | undefined) ?? [];
    if (matched.length === 0) throw new ServiceError('not_found', 'There is nothing at this path.');
    const allowed = [...new Set(matched.flatMap(({ methods }) => methods))].sort().join(', ');
    if (ctx.method === 'OPTIONS') {
      ctx.status = 204;
      ctx.set('Allow', allowed);
      return;
    }
    throw new ServiceError('method_not_allowed', `This path takes ${allowed}.`, undefined, { Allow: allowed });
  };
}

import type { Middleware } from 'koa';
import { ServiceError } from '../../../src/platform/errors.js';

interface Matched {
  methods: string[];
}

/**
 * Handles requests that match no route: 405 with `Allow` for a known path, otherwise 404. Answers OPTIONS of a known
 * path.
 */
export function unmatched(): Middleware {
  return async (ctx) => {
    const matched = (ctx.matched as Matched[] | undefined) ?? [];
    if (matched.length === 0) {
      const pages = ctx.path === '/' ? ' Open /docs for the operations, or /console/.' : ' /docs lists the operations.';
      throw new ServiceError('not_found', `No operation has this path.${pages}`);
    }
    const allowed = [...new Set(matched.flatMap(({ methods }) => methods))].sort().join(', ');
    if (ctx.method === 'OPTIONS') {
      ctx.status = 204;
      ctx.set('Allow', allowed);
      return;
    }
    throw new ServiceError('method_not_allowed', `This path takes ${allowed}.`, undefined, { Allow: allowed });
  };
}

import type { Context } from 'koa';
import { ServiceError } from '../../../src/platform/errors.js';
import type { Caller } from './operation.js';
import type { RateLimiter } from '../../../src/projects/limits.js';

/**
 * Counts the request against its project's limit for the operation, and sets the rate limit headers (contract.md §1).
 * @throws ServiceError `rate_limit_exceeded`
 */
export async function applyRateLimit(
  ctx: Context,
  limiter: RateLimiter,
  caller: Caller,
  operationId: string,
): Promise<void> {
  const state = await limiter(caller, operationId);
  if (state === null) return;
  ctx.set('RateLimit-Limit', String(state.limit));
  ctx.set('RateLimit-Remaining', String(state.remaining));
  ctx.set('RateLimit-Reset', String(state.resetSeconds));
  if (state.exceeded) {
    throw new ServiceError(
      'rate_limit_exceeded',
      `At most ${state.limit} requests a minute of this operation are allowed for the project. Try again in ${state.resetSeconds} s.`,
      undefined,
      { 'Retry-After': String(state.resetSeconds) },
    );
  }
}

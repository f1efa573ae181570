import type { Context } from 'koa';
import { ServiceError } from '../../../src/platform/errors.js';
import type { Caller, Route } from './operation.js';
import type { RateLimiter, RateLimitState, TokenLimiter } from '../../../src/projects/limits.js';
import type { SessionToken } from '../../../src/projects/session-token.js';

/** Requests a minute of one operation, of all tokens of a session and its copies together (docs/decisions.md "Session tokens"). */
const MAX_TOKEN_WRITES = 20;
const MAX_TOKEN_READS = 120;

/**
 * Counts the request against its project's limit for the operation, and sets the rate limit headers (decisions.md "HTTP"). Requests with
 * session tokens have a limit of their own, of the same size: whatever pages do, the project's back end has its own ("Session tokens").
 * @throws ServiceError `rate_limit_exceeded`
 */
export async function applyRateLimit(
  ctx: Context,
  limiter: RateLimiter,
  caller: Caller,
  operationId: string,
): Promise<void> {
  const isPage = caller.token !== null;
  const state = await limiter(caller, isPage ? `tokens:${operationId}` : operationId);
  if (state !== null) applyLimit(ctx, state, isPage ? 'all session tokens of the project together' : 'the project');
}

/**
 * Counts the request of a session token against the limit of all tokens of its session. It comes before the limit of all tokens of the
 * project, which the refused requests of one page then do not use up.
 * @throws ServiceError `rate_limit_exceeded`
 */
export async function applyTokenLimit(
  ctx: Context,
  limiter: TokenLimiter,
  { familyId }: SessionToken,
  [, , , isWrite, operation]: Route,
): Promise<void> {
  const state = await limiter(familyId, operation.id, isWrite ? MAX_TOKEN_WRITES : MAX_TOKEN_READS);
  applyLimit(ctx, state, 'all tokens of the session together');
}

/** Of two limits, the headers show the one of which less is left. */
function applyLimit(ctx: Context, { limit, remaining, resetSeconds, exceeded }: RateLimitState, whose: string): void {
  if (!ctx.res.hasHeader('RateLimit-Limit') || remaining <= Number(ctx.response.get('RateLimit-Remaining'))) {
    ctx.set('RateLimit-Limit', String(limit));
    ctx.set('RateLimit-Remaining', String(remaining));
    ctx.set('RateLimit-Reset', String(resetSeconds));
  }
  if (exceeded) {
    throw new ServiceError(
      'rate_limit_exceeded',
      `At most ${limit} requests a minute of this operation are allowed for ${whose}. Try again in ${resetSeconds} s.`,
      undefined,
      { 'Retry-After': String(resetSeconds) },
    );
  }
}

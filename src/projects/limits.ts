import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { DataSource } from 'typeorm';

/** What is left of an operation's minute. */
export interface RateLimitState {
  limit: number;
  remaining: number;
  /** Whole seconds until the window starts anew; waiting that long is enough. */
  resetSeconds: number;
  exceeded: boolean;
}

/** Counts one request of a project's operation; null where limits are off. */
export type RateLimiter = (projectId: string, operationId: string) => Promise<RateLimitState | null>;

/**
 * The limit per project and operation, exact over all API processes (contract.md §1): one upsert in Postgres counts.
 * A window is a minute from its first request; refused requests count too.
 */
export function createRateLimiter(db: DataSource, perMinute: number): RateLimiter {
  if (perMinute === 0) return async () => null;
  const limiter = new RateLimiterPostgres({
    storeClient: db,
    storeType: 'typeorm',
    tableName: 'rate_limits',
    tableCreated: true,
    keyPrefix: '',
    points: perMinute,
    duration: 60,
  });
  return async (projectId, operationId) => {
    const { result, exceeded } = await limiter.consume(`${projectId}:${operationId}`).then(
      (left) => ({ result: left, exceeded: false }),
      (refusal: unknown) => {
        if (refusal instanceof RateLimiterRes) return { result: refusal, exceeded: true };
        throw refusal;
      },
    );
    return {
      limit: perMinute,
      remaining: result.remainingPoints,
      resetSeconds: Math.max(1, Math.ceil(result.msBeforeNext / 1000)),
      exceeded,
    };
  };
}

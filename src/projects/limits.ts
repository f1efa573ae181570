import type { Database } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import type { LiveKey } from './api-keys.js';

export interface RateLimitState {
  limit: number;
  remaining: number;
  /** Whole seconds until the next window starts. */
  resetSeconds: number;
  exceeded: boolean;
}

/** Counts one request of a project's operation. Returns null if the project has no rate limit. */
export type RateLimiter = (
  project: Pick<LiveKey, 'projectId' | 'ratePerMinute'>,
  operationId: string,
) => Promise<RateLimitState | null>;

/** Counts one request of an operation that was sent with a token of the session. */
export type TokenLimiter = (sessionId: string, operationId: string, limit: number) => Promise<RateLimitState>;

const WINDOW_MS = 60_000;

/** The requests counted in a window, and the window's end by this process' clock. */
interface Count {
  points: number;
  endsAt: number;
}

/**
 * The rate limit per project and operation, exact over all API processes (decisions.md "HTTP"). A window is one minute long
 * and starts at its first request. Requests that arrive during a count of the same key are counted together by the next
 * statement. Once a window is used up, this process refuses requests without a query until the window ends.
 */
export function createRateLimiter(
  db: Database,
  perMinute: number,
  counters = new Map<string, KeyCounter>(),
): RateLimiter {
  const countOf = counting(db, counters);
  return async ({ projectId, ratePerMinute }, operationId) => {
    const limit = ratePerMinute ?? perMinute;
    return limit === 0 ? null : countOf(`${projectId}:${operationId}`, limit);
  };
}

/** As `createRateLimiter`, for the tokens of each session. */
export function createTokenLimiter(db: Database): TokenLimiter {
  const countOf = counting(db, new Map<string, KeyCounter>());
  return (sessionId, operationId, limit) => countOf(`${sessionId}:${operationId}`, limit);
}

function counting(
  db: Database,
  counters: Map<string, KeyCounter>,
): (key: string, limit: number) => Promise<RateLimitState> {
  const counterOf = (key: string): KeyCounter => {
    const existing = counters.get(key);
    if (existing !== undefined) return existing;
    const counter = new KeyCounter(db, key, (refusesForMs) => {
      if (refusesForMs === 0) counters.delete(key);
      else setTimeout(() => counters.delete(key), refusesForMs).unref();
    });
    counters.set(key, counter);
    return counter;
  };
  return async (key, limit) => {
    const { points, endsAt } = await counterOf(key).count(limit);
    return {
      limit,
      remaining: Math.max(0, limit - points),
      resetSeconds: Math.max(1, Math.ceil((endsAt - performance.now()) / 1000)),
      exceeded: points > limit,
    };
  };
}

export class KeyCounter {
  #waiting: { resolve: (count: Count) => void; reject: (error: unknown) => void }[] = [];
  #isCounting = false;
  #last: Count = { points: 0, endsAt: 0 };
  /** That of the newest request. */
  #limit = 0;

  constructor(
    private readonly db: Database,
    private readonly key: string,
    /** Called when no request waits; the counter is needed only for as long as it refuses requests without a query. */
    private readonly onIdle: (refusesForMs: number) => void,
  ) {}

  /** Counts one request; returns its place in the window. */
  async count(limit: number): Promise<Count> {
    this.#limit = limit;
    if (this.#last.points > limit && performance.now() < this.#last.endsAt) return this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (!this.#isCounting) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isCounting = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        this.#last = await addPoints(this.db, this.key, batch.length);
        const before = this.#last.points - batch.length;
        batch.forEach(({ resolve }, n) => resolve({ ...this.#last, points: before + n + 1 }));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isCounting = false;
    const { points, endsAt } = this.#last;
    this.onIdle(points > this.#limit ? Math.max(0, endsAt - performance.now()) : 0);
  }
}

/** The commit is asynchronous: if Postgres crashes, the most recent requests may not count. */
async function addPoints(db: Database, key: string, points: number): Promise<Count> {
  const asked = performance.now();
  const [row] = await runSql<{ points: number; left_ms: number }>(
    db,
    sql`WITH request AS MATERIALIZED (
          SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now,
            set_config('synchronous_commit', 'off', true)),
        counted AS (
          INSERT INTO rate_limits AS r (key, points, expire)
          SELECT ${key}, ${points}::integer, now + ${WINDOW_MS}::integer FROM request
          ON CONFLICT (key) DO UPDATE SET
            points = CASE WHEN r.expire <= excluded.expire - ${WINDOW_MS}::integer THEN 0 ELSE r.points END + excluded.points,
            expire = CASE WHEN r.expire <= excluded.expire - ${WINDOW_MS}::integer THEN excluded.expire ELSE r.expire END
          RETURNING points, expire)
        SELECT points, (expire - now)::double precision AS left_ms FROM counted, request`,
  );
  return { points: row!.points, endsAt: asked + row!.left_ms };
}

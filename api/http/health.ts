import type { Middleware } from 'koa';
import { isReady } from '../../src/db/schema-version.js';
import { metricsText, registry } from '../../src/platform/metrics.js';
import type { ApiDeps } from '../deps.js';

const PROBE_MS = 3000;

export type PartState = 'ok' | 'away';

/** `GET /healthz`: the process lives. */
export function healthz(): Middleware {
  return (ctx) => {
    ctx.body = { status: 'ok' };
  };
}

/**
 * `GET /readyz`: 200 while Postgres takes writes and its schema is current. The other parts are told, not required: a turn
 * waits for them. With `?deep=1` 503 when any is away (contract.md §5).
 */
export function readyz(deps: ApiDeps): Middleware {
  return async (ctx) => {
    const [postgres, parts] = await Promise.all([stateOf(() => isReady(deps.db)), deps.health()]);
    const body = { postgres, ...parts };
    const required = ctx.query.deep === '1' ? Object.values(body) : [postgres];
    ctx.status = required.includes('away') ? 503 : 200;
    ctx.body = body;
  };
}

/** `GET /metrics`: Prometheus text. */
export function metrics(): Middleware {
  return async (ctx) => {
    ctx.set('Content-Type', registry.contentType);
    ctx.body = await metricsText();
  };
}

/** `away` when the check says no, throws, or does not come back in time. */
export async function stateOf(check: () => Promise<boolean>): Promise<PartState> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), PROBE_MS)));
  const ok = await Promise.race([check().catch(() => false), late]);
  clearTimeout(timer);
  return ok ? 'ok' : 'away';
}

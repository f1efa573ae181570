import type { Middleware } from 'koa';
import type { DataSource } from 'typeorm';
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
 * `GET /readyz`: 200 while Postgres answers and its schema is current. The other parts are told, not required: a turn
 * waits for them. With `?deep=1` 503 when any is away (contract.md §5).
 */
export function readyz(deps: ApiDeps): Middleware {
  return async (ctx) => {
    const [postgres, parts] = await Promise.all([stateOf(() => schemaIsCurrent(deps.db)), deps.health()]);
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

async function schemaIsCurrent(db: DataSource): Promise<boolean> {
  const names = db.migrations.map((migration) => migration.name ?? migration.constructor.name);
  const done = await db.query<unknown[]>('SELECT 1 FROM migrations WHERE name = ANY($1)', [names]);
  return done.length === names.length;
}

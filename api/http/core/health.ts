import type { Middleware } from 'koa';
import { metricsText, registry } from '../../../src/platform/metrics.js';
import { answerReadiness, type Readiness } from '../../../src/platform/readiness.js';

/** `GET /healthz`: the process is alive. */
export function healthz(): Middleware {
  return (ctx) => {
    ctx.body = { status: 'ok' };
  };
}

/** `GET /readyz`, `?deep=1` (decisions.md "Running it"). */
export function readyz(readiness: Readiness): Middleware {
  return async (ctx) => {
    // Tells its 503 from those of requests, whose route may be unknown when Postgres is away (alert ServerErrors).
    ctx.state.route = '/readyz';
    const { status, body } = await answerReadiness(readiness, ctx.query.deep === '1');
    ctx.status = status;
    ctx.body = body;
  };
}

export function metrics(): Middleware {
  return async (ctx) => {
    ctx.set('Content-Type', registry.contentType);
    ctx.body = await metricsText();
  };
}

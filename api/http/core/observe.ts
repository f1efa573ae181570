import type { ServerResponse } from 'node:http';
import { context, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { Middleware } from 'koa';
import type { Logger } from '../../../src/platform/logger.js';
import { httpRequestSeconds } from '../../../src/platform/metrics.js';
import { extractTrace, withSpan } from '../../../src/platform/tracing.js';
import type { Caller } from './operation.js';

/** As nginx has it: the client went away before the answer began. Koa's own status of such a request is 404. */
const CLIENT_WENT_AWAY = 499;

/**
 * Logs and measures each request when its response has ended or its client has disconnected. A client's `traceparent`
 * controls sampling, so it is used only if a setting trusts it.
 */
export function observe(log: Logger, trustTraceparent: boolean): Middleware {
  return async (ctx, next) => {
    const start = performance.now();
    const requestLog = log.child({ request_id: ctx.state.requestId as string });
    ctx.state.log = requestLog;
    ctx.res.once('close', () => {
      const seconds = (performance.now() - start) / 1000;
      const status = ctx.res.headersSent ? ctx.res.statusCode : CLIENT_WENT_AWAY;
      const route = (ctx.state.route as string | undefined) ?? 'none';
      const caller = ctx.state.caller as Caller | undefined;
      // A stream lasts as long as its turn, which would hide how long requests take. `event_streams_open` counts streams.
      if (!isStream(ctx.res)) httpRequestSeconds.observe({ method: ctx.method, route, status }, seconds);
      requestLog.info(
        {
          method: ctx.method,
          path: ctx.path,
          route,
          status,
          complete: ctx.res.writableFinished,
          ms: Math.round(seconds * 1e6) / 1000,
          project_id: caller?.projectId,
          key_id: caller?.keyId,
          ...(caller?.token && { session_token: true }),
          session_id: (ctx.params as Record<string, string> | undefined)?.session_id,
        },
        'request',
      );
    });
    const attributes = {
      'http.request.method': ctx.method,
      'url.path': ctx.path,
      request_id: ctx.state.requestId as string,
    };
    await withSpan(
      ctx.method,
      attributes,
      async (span) => {
        await next();
        const route = ctx.state.route as string | undefined;
        if (route !== undefined) span.updateName(`${ctx.method} ${route}`).setAttribute('http.route', route);
        const caller = ctx.state.caller as Caller | undefined;
        if (caller !== undefined) span.setAttribute('project_id', caller.projectId);
        span.setAttribute('http.response.status_code', ctx.status);
        if (ctx.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      },
      SpanKind.SERVER,
      trustTraceparent ? extractTrace(ctx.headers) : context.active(),
    );
  };
}

function isStream(res: ServerResponse): boolean {
  return String(res.getHeader('content-type')).startsWith('text/event-stream');
}

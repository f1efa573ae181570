import cors from '@koa/cors';
import Router from '@koa/router';
import Koa, { type Middleware } from 'koa';
import helmet from 'koa-helmet';
import { newId } from '../src/platform/ids.js';
import type { ApiDeps } from './deps.js';
import { authenticate } from './http/core/authenticate.js';
import { answerBroken, errorResponse } from './http/core/error-response.js';
import { BuiltPages } from './http/pages/built.js';
import { addConsole } from './http/pages/console.js';
import { addDocs } from './http/pages/docs.js';
import { healthz, metrics, readyz } from './http/core/health.js';
import { observe } from './http/core/observe.js';
import { openApiDocument } from './http/openapi/openapi.js';
import type { Route } from './http/core/operation.js';
import { responseTimeout } from './http/core/response-timeout.js';
import { serve } from './http/core/serve.js';
import { unmatched } from './http/core/unmatched.js';
import { routes } from './routes.js';

/** The API's middleware, top to bottom. The steps inside an operation's route are in api/http/core/serve. */
export function createApp(deps: ApiDeps): Koa {
  const app = new Koa();
  app.context.onerror = answerBroken;
  app.use(responseTimeout());
  app.use(requestId());
  app.use(observe(deps.log, deps.config.trustTraceparent));
  app.use(errorResponse());
  app.use(securityHeaders());
  if (deps.config.corsOrigins.length > 0) app.use(crossOrigin(deps.config.corsOrigins));
  app.use(withoutKey(deps).routes());
  app.use(underV1(authenticate(deps.keyLookup, deps.sessionTokens)));
  app.use(withKey(deps).routes());
  app.use(unmatched());
  return app;
}

/** Routes without a key: health, metrics, and operations whose permission is null. */
function withoutKey(deps: ApiDeps): Router {
  const router = new Router({ sensitive: true, strict: true });
  // With METRICS_PORT, only that port serves them (api/main).
  if (deps.config.metricsPort === null) {
    router.get('/healthz', healthz());
    router.get('/readyz', readyz(deps.readiness));
    router.get('/metrics', metrics());
  }
  const built = new BuiltPages();
  addDocs(router, openApiDocument(routes), deps, built);
  if (deps.config.console) addConsole(router, deps, built);
  for (const route of routes) if (route[2] === null) mount(router, route, deps);
  return router;
}

function withKey(deps: ApiDeps): Router {
  const router = new Router({ sensitive: true, strict: true });
  for (const route of routes) if (route[2] !== null) mount(router, route, deps);
  return router;
}

function mount(router: Router, route: Route, deps: ApiDeps): void {
  const [method, path] = route;
  router.register(path.replaceAll('{', ':').replaceAll('}', ''), [method], serve(route, deps));
}

/** Under /v1 the key is checked first, also for unknown paths (decisions.md "HTTP"). */
function underV1(middleware: Middleware): Middleware {
  return async (ctx, next) => {
    await (/^\/v1(\/|$)/.test(ctx.path) ? middleware(ctx, next) : next());
  };
}

/** Allows pages of the configured origins to use the API and to read its documented headers. */
function crossOrigin(origins: string[]): Middleware {
  return cors({
    origin: (ctx) => (origins.includes(ctx.get('Origin')) ? ctx.get('Origin') : ''),
    allowMethods: ['GET', 'POST', 'PATCH', 'DELETE'],
    allowHeaders: ['Authorization', 'Content-Type', 'Idempotency-Key', 'Last-Event-ID', 'X-Actor', 'X-Request-Id'],
    exposeHeaders: [
      'Content-Disposition',
      'Idempotency-Replayed',
      'Location',
      'RateLimit-Limit',
      'RateLimit-Remaining',
      'RateLimit-Reset',
      'Retry-After',
      'X-Request-Id',
      'X-Should-Retry',
    ],
    maxAge: 3600,
    keepHeadersOnError: true,
  });
}

/** Gives the request an id, or keeps the client's (decisions.md "HTTP"). */
function requestId(): Middleware {
  return async (ctx, next) => {
    const sent = ctx.get('X-Request-Id');
    const id = /^[A-Za-z0-9_-]{1,128}$/.test(sent) ? sent : newId('request');
    ctx.state.requestId = id;
    ctx.set('X-Request-Id', id);
    await next();
  };
}

/** Responses of an API are data: browsers must not run, frame or sniff them. */
function securityHeaders(): Middleware {
  return helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    crossOriginResourcePolicy: { policy: 'cross-origin' },
    referrerPolicy: { policy: 'no-referrer' },
  });
}

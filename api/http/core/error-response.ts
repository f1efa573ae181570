import type { ServerResponse } from 'node:http';
import type { Context, Middleware } from 'koa';
import { ProjectShareError } from '../../../src/db/project-pool.js';
import { isDatabaseAway, isDatabaseBusy } from '../../../src/db/transaction.js';
import { ServiceError } from '../../../src/platform/errors.js';
import { exactText } from '../../../src/platform/exact-json.js';
import { requestsRefused } from '../../../src/platform/metrics.js';
import type { Logger } from '../../../src/platform/logger.js';
import { lingerForBody } from './linger.js';

/** Converts every error that a handler throws into a response (decisions.md "HTTP", "Error envelope"). */
export function errorResponse(): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      const log = ctx.state.log as Logger;
      if (ctx.headerSent) return breakOff(ctx.res, thrown, log);
      respondWith(ctx, serviceErrorOf(thrown, log));
    }
    lingerForBody(ctx);
  };
}

/** Ends a response that has begun and cannot be replaced. Cutting the connection shows the client that it is incomplete. */
export function breakOff(res: ServerResponse, error: unknown, log: Logger): void {
  // For its log line.
  serviceErrorOf(error, log);
  res.destroy();
}

/**
 * Replaces Koa's own error handler, which answers in plain text. It gets errors after the middleware: a failing body
 * stream, or a client that disconnected.
 */
export function answerBroken(this: Context, error: Error | null): void {
  if (error === null) return;
  if (this.headerSent || !this.writable) {
    (this.state.log as Logger).info({ err: error }, 'the response broke off');
    this.res.destroy();
    return;
  }
  respondWith(this, serviceErrorOf(error, this.state.log as Logger));
  this.res.end(this.body);
}

/** Headers set before the error would describe a body that is not sent. */
const OF_SUCCESS = ['Accept-Ranges', 'Content-Disposition', 'Content-Length', 'Content-Range', 'ETag', 'Location'];

function respondWith(ctx: Context, error: ServiceError): void {
  const { status, reason } = error;
  if (status === 429 || status === 503) requestsRefused.inc({ status, reason });
  ctx.status = status;
  ctx.set(retryHeaders(error));
  ctx.set(error.headers);
  for (const name of OF_SUCCESS) ctx.remove(name);
  ctx.set('Content-Type', 'application/json');
  ctx.body = exactText(errorEnvelope(error, ctx.state.requestId as string));
}

export function errorEnvelope({ type, message, details }: ServiceError, requestId: string): object {
  return { type: 'error', error: { type, message, ...(details && { details }) }, request_id: requestId };
}

function retryHeaders(error: ServiceError): Record<string, string> {
  if (error.type === 'idempotency_key_in_use') return { 'X-Should-Retry': 'true', 'Retry-After': '1' };
  if (error.status === 409) return { 'X-Should-Retry': 'false' };
  if (error.status === 503) return { 'X-Should-Retry': 'true', 'Retry-After': '1' };
  if (error.status === 502) return { 'X-Should-Retry': 'true' };
  return {};
}

/** Converts an error for the client. An internal error is logged, and the client gets no details. */
function serviceErrorOf(thrown: unknown, log: Logger): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  if (thrown instanceof ProjectShareError) {
    return new ServiceError(
      'too_many_requests',
      'Other requests of the project are under way and use the database. Send fewer at once, or wait, then try again.',
      undefined,
      { 'Retry-After': '1' },
      'database_share',
    );
  }
  if (isDatabaseAway(thrown)) {
    log.warn({ err: thrown }, 'Postgres is away');
    const [message, reason] = isDatabaseBusy(thrown)
      ? ['The database is busy: the request took too long. Try again.', 'database_busy']
      : ['The service cannot reach its database. Try again.', 'database_away'];
    return new ServiceError('service_unavailable', message, undefined, {}, reason);
  }
  log.error({ err: thrown }, 'unexpected error');
  return new ServiceError(
    'internal_error',
    'The service had an unexpected error. Quote the request_id if you report it.',
  );
}

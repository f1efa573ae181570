import { isApiError, isConnectionError } from '../../src/models/api-error.js';
import { CredentialsError } from '../../src/platform/bearer-tokens.js';
import { parseRetryAfter } from '../../src/platform/retry-after.js';
import type { Redactor } from '../../src/platform/redactor.js';
import type { ModelFailure } from '../../src/steps/model-call.js';

/** The model sent nothing for too long (contract.md §3). */
export class ModelIdleTimeoutError extends Error {
  constructor(seconds: number) {
    super(`The model sent nothing for ${seconds} s.`);
    this.name = 'ModelIdleTimeoutError';
  }
}

/** The model's answer was cut off or is not valid. */
export class ModelStreamError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ModelStreamError';
  }
}

const RETRIED_STATUS = new Set([408, 409, 429]);
const RETRIED_TYPES = new Set(['overloaded_error', 'rate_limit_error', 'api_error', 'timeout_error']);
const WORD = /^[\w-]{1,128}$/;
const TOO_LONG = /prompt is too long|context (window|length|limit)|too many (input )?tokens/i;

/**
 * Classifies an error of a model call: by `x-should-retry` if the header is present, else by the status, else by the
 * error's type (errors inside a stream have no status).
 */
export function modelFailureOf(error: unknown, redactor: Redactor): ModelFailure {
  const failure = classify(error, redactor);
  const status = isApiError(error) && typeof error.status === 'number' ? error.status : undefined;
  return status === undefined ? failure : { ...failure, status };
}

function classify(error: unknown, redactor: Redactor): ModelFailure {
  if (isConnectionError(error) && error.cause instanceof CredentialsError) {
    return { type: 'model_error', message: error.cause.message, retryable: true };
  }
  if (error instanceof ModelIdleTimeoutError || error instanceof ModelStreamError || isConnectionError(error)) {
    return { type: 'model_error', message: sentence(error.message), retryable: true };
  }
  if (!isApiError(error)) {
    // Any other error than a broken connection (a frame that is not JSON, say) also counts as a failure, so that retries
    // end. We do not use its message, because it may quote the answer.
    const message = isBroken(error) ? 'The connection to the model was lost.' : 'The model’s answer is not valid.';
    return { type: 'model_error', message, retryable: true };
  }
  const status = typeof error.status === 'number' ? error.status : null;
  const headers = error.headers instanceof Headers ? error.headers : new Headers();
  const detail = detailOf(error.error, redactor);
  const retryable = isRetryable(headers.get('x-should-retry'), status, error.type);
  const retryAfterMs = retryAfterOf(headers);
  if (status === 413 || (status === 400 && TOO_LONG.test(detail))) {
    return {
      type: 'context_too_long',
      message: 'The message and its results do not fit into the model’s context.',
      retryable: false,
    };
  }
  if (status === 429 || error.type === 'rate_limit_error') {
    return {
      type: 'model_rate_limited',
      message: `The model refused the call (rate limit). ${sentence(detail)}`.trim(),
      retryable,
      retryAfterMs,
    };
  }
  if (status === 529 || status === 503 || error.type === 'overloaded_error') {
    return {
      type: 'model_overloaded',
      message: `The model is overloaded. ${sentence(detail)}`.trim(),
      retryable,
      retryAfterMs,
    };
  }
  const where = status === null ? 'inside its answer' : `HTTP ${status}`;
  return {
    type: 'model_error',
    message: `The model refused the call (${where}). ${sentence(detail)}`.trim(),
    retryable,
    retryAfterMs,
  };
}

/**
 * What the log says about a failed call: the API's status, error type and request id, or the code of the connection's
 * error. Messages of others are left out: they may quote content or credentials.
 */
export function describeFailure(error: unknown): { status?: number; reason: string; model_request_id?: string } {
  if (error instanceof ModelIdleTimeoutError || error instanceof ModelStreamError) return { reason: error.message };
  if (!isApiError(error) || isConnectionError(error)) return { reason: codeOf(error) };
  const { status, type, requestID } = error;
  return {
    status,
    reason: typeof type === 'string' && WORD.test(type) ? type : 'no error type',
    model_request_id: typeof requestID === 'string' && WORD.test(requestID) ? requestID : undefined,
  };
}

/** The connection broke inside the answer: Node and undici give the error a code, `fetch` wraps it in a TypeError. */
function isBroken(error: unknown): boolean {
  const inner = error instanceof TypeError ? error.cause : error;
  return inner instanceof Error && 'code' in inner && typeof inner.code === 'string';
}

/** The code of the innermost cause that has one, such as ECONNREFUSED, else the name of the error. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no error';
  const inner = error.cause instanceof Error ? codeOf(error.cause) : null;
  if (inner !== null && inner !== 'Error') return inner;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

function isRetryable(shouldRetry: string | null, status: number | null, type: string | null | undefined): boolean {
  if (shouldRetry === 'true' || shouldRetry === 'false') return shouldRetry === 'true';
  if (status !== null) return RETRIED_STATUS.has(status) || status >= 500;
  return type === null || type === undefined || RETRIED_TYPES.has(type);
}

function retryAfterOf(headers: Headers): number | undefined {
  const millis = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(millis) && millis >= 0) return millis;
  const seconds = parseRetryAfter(headers.get('retry-after'), Date.now());
  return seconds === null ? undefined : seconds * 1000;
}

/** The message from the error's envelope if it has one, never headers or raw bodies. Google's may be an array of one. */
function detailOf(envelope: unknown, redactor: Redactor): string {
  const body = (Array.isArray(envelope) ? envelope[0] : envelope) as { error?: { message?: unknown } } | undefined;
  return typeof body?.error?.message === 'string' ? redactor.redact(body.error.message).slice(0, 500) : '';
}

function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === '' || /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}

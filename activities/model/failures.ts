import type { APIError } from '@anthropic-ai/sdk';
import { isApiError, isConnectionError } from '../../src/models/api-error.js';
import { CredentialsError } from '../../src/platform/bearer-tokens.js';
import { parseRetryAfter } from '../../src/platform/retry-after.js';
import type { Redactor } from '../../src/platform/redactor.js';
import { storableText } from '../../src/platform/text.js';
import type { ModelFailure } from '../../src/steps/model-call.js';
import type { PendingRequest } from '../../src/models/request.js';
import { refusedMedia } from './media-refusal.js';
import { refusalReason, refusalType, saysTooLong, statusInside } from './refusal.js';

/** The model sent nothing, or nothing but signs of life, for too long (decisions.md "Turns and events"). */
export class ModelIdleTimeoutError extends Error {
  constructor(seconds: number, what = 'nothing') {
    super(`The model sent ${what} for ${seconds} s.`);
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

/** The model's server reported an error inside an answer that had begun as a good one. */
export class ModelAnswerError extends Error {
  constructor(
    readonly body: unknown,
    readonly headers: Headers,
  ) {
    super('The model’s server reported an error inside its answer.');
    this.name = 'ModelAnswerError';
  }
}

/** The SDK's words for an answer without a body. */
const NO_BODY = 'status code (no body)';
const RETRIED_STATUS = new Set([408, 409, 429]);
/** Errors inside an answer that a second attempt would meet again. Any other one broke off an accepted call. */
const LASTING_TYPES =
  /^(invalid|bad_?request|request_too_large|unsupported|authentication|unauthori|permission|forbidden|not_?found|billing)/i;
const MAX_DETAIL = 500;
const WORD = /^[\w-]{1,128}$/;

/**
 * Classifies an error of a model call.
 * @param request the images and documents that the call had, and how often such were refused in the turn
 */
export function modelFailureOf(
  error: unknown,
  redactor: Redactor,
  request: Pick<PendingRequest, 'media' | 'mediaRefusals'> = { media: [], mediaRefusals: 0 },
): ModelFailure {
  const refusal = refusalOf(error);
  const refused = refusal && refusedMedia(refusal, request.media, request.mediaRefusals);
  const failure: ModelFailure =
    refused === null
      ? classify(error, redactor)
      : {
          type: 'model_error',
          message: refusedText(refusal!, redactor),
          retryable: false,
          refusedMedia: refused,
        };
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
  const refusal = refusalOf(error);
  if (refusal === null) {
    // Any other error than a broken connection also counts as a failure, so that retries end. We do not use its message,
    // because it may quote the answer.
    const message = isBroken(error) ? 'The connection to the model was lost.' : 'The model’s answer is not valid.';
    return { type: 'model_error', message, retryable: true };
  }
  const { body, status, headers } = refusal;
  if (saysTooLong(body, status)) {
    return {
      type: 'context_too_long',
      message: 'The message and its results do not fit into the model’s context.',
      retryable: false,
    };
  }
  const detail = detailOf(body, redactor);
  const rest = { retryable: isRetryable(refusal), retryAfterMs: retryAfterOf(headers) };
  const type = refusalType(body);
  if (status === 429 || type === 'rate_limit_error') {
    return {
      type: 'model_rate_limited',
      message: `The model refused the call (rate limit). ${detail}`.trim(),
      ...rest,
    };
  }
  if (status === 529 || status === 503 || type === 'overloaded_error') {
    return { type: 'model_overloaded', message: `The model is overloaded. ${detail}`.trim(), ...rest };
  }
  return { type: 'model_error', message: refusedText(refusal, redactor), ...rest };
}

function refusedText({ body, status, isInside }: Refusal, redactor: Redactor): string {
  const where = isInside ? 'inside its answer' : `HTTP ${status}`;
  return `The model refused the call (${where}). ${detailOf(body, redactor)}`.trim();
}

function detailOf(body: unknown, redactor: Redactor): string {
  const said = redactor.redactStart(storableText(refusalReason(body)), MAX_DETAIL).slice(0, MAX_DETAIL);
  // The cut may split a character.
  return sentence(storableText(said));
}

/** An error that the model's server reported. */
interface Refusal {
  body: unknown;
  /** Null if it has none. */
  status: number | null;
  headers: Headers;
  isInside: boolean;
}

function refusalOf(error: unknown): Refusal | null {
  if (error instanceof ModelAnswerError) {
    const { body, headers } = error;
    return { body, status: statusInside(body), headers, isInside: true };
  }
  if (!isApiError(error)) return null;
  const headers = error.headers instanceof Headers ? error.headers : new Headers();
  return { body: error.error ?? bodyInMessage(error), status: error.status ?? null, headers, isInside: false };
}

/**
 * A body that is no JSON: the SDK puts it into the message, after the status. It is a text, or an event with the error. A
 * web page gives no reason.
 */
function bodyInMessage({ status, message, error }: APIError): unknown {
  const start = `${status} `;
  if (error !== undefined || !message.startsWith(start)) return undefined;
  const text = message.slice(start.length).trim();
  if (text === NO_BODY || text.startsWith('<')) return undefined;
  const data = /^data:(.*)$/m.exec(text)?.[1];
  return data === undefined ? text : (parsed(data) ?? data);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/**
 * What the log says about a failed call: the API's status, error type and request id, or the code of the connection's
 * error. Messages of others are left out: they may quote content or credentials.
 */
export function describeFailure(error: unknown): { status?: number; reason: string; model_request_id?: string } {
  if (error instanceof ModelIdleTimeoutError || error instanceof ModelStreamError) return { reason: error.message };
  if (isConnectionError(error)) return { reason: codeOf(error) };
  const refusal = refusalOf(error);
  if (refusal === null) return { reason: codeOf(error) };
  const type = refusalType(refusal.body);
  const requestId = refusal.headers.get('request-id') ?? '';
  return {
    status: refusal.status ?? undefined,
    reason: type !== null && WORD.test(type) ? type : 'no error type',
    model_request_id: WORD.test(requestId) ? requestId : undefined,
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

/** By `x-should-retry` if the header is present, else by the status, else by the error's type. */
function isRetryable({ headers, status, body }: Refusal): boolean {
  const shouldRetry = headers.get('x-should-retry');
  if (shouldRetry === 'true' || shouldRetry === 'false') return shouldRetry === 'true';
  if (status !== null) return RETRIED_STATUS.has(status) || status >= 500;
  return !LASTING_TYPES.test(refusalType(body) ?? '');
}

function retryAfterOf(headers: Headers): number | undefined {
  const millis = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(millis) && millis >= 0) return millis;
  const seconds = parseRetryAfter(headers.get('retry-after'), Date.now());
  return seconds === null ? undefined : seconds * 1000;
}

function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === '' || /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}

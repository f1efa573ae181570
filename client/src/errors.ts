import type { ErrorDetails, ErrorType } from './types.js';

/** The service refused a request, or failed at it. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    readonly status: number,
    /** `unknown` when the answer is not the service's own: a proxy's, for one. */
    readonly type: ErrorType | 'unknown',
    message: string,
    /** What the type lists, where there is something to list; typed once `is` has told the type. */
    readonly details: unknown,
    /** What to name when asking the operator about it. */
    readonly requestId: string | null,
    /** Sending the same request again can help. The client has done so already, for as long as `retryForMs` says. */
    readonly retryable: boolean,
    /** How long the service asks to wait before that. */
    readonly retryAfterMs: number | null,
  ) {
    super(message);
  }

  /** Narrows to one type, `details` with it. */
  is<Type extends ErrorType>(type: Type): this is ApiError & { type: Type; details?: ErrorDetails<Type> } {
    return this.type === type;
  }
}

/** No answer: the service could not be reached, or the connection broke. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** @internal The error that a response stands for. */
export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  const error = errorIn(text);
  const retryAfterMs = retryAfterOf(response);
  return new ApiError(
    response.status,
    error?.type ?? 'unknown',
    error?.message ?? `The service answered ${response.status}${text === '' ? '' : `: ${text.slice(0, 200)}`}`,
    error?.details,
    response.headers.get('x-request-id'),
    isRetryable(response, retryAfterMs),
    retryAfterMs,
  );
}

interface ErrorBody {
  type: ErrorType;
  message: string;
  details?: unknown;
}

function errorIn(text: string): ErrorBody | null {
  try {
    const { error } = JSON.parse(text) as { error?: Partial<ErrorBody> };
    return typeof error?.type === 'string' && typeof error.message === 'string' ? (error as ErrorBody) : null;
  } catch {
    return null;
  }
}

/**
 * `X-Should-Retry` decides. Without it: what is over after a wait that the answer names (a 429 without one, such as
 * `too_many_running_turns`, can take for ever), and what gateways answer while the service is away.
 */
function isRetryable({ status, headers }: Response, retryAfterMs: number | null): boolean {
  const said = headers.get('x-should-retry');
  if (said !== null) return said === 'true';
  if (status === 429) return retryAfterMs !== null;
  return status === 408 || status >= 500;
}

function retryAfterOf({ headers }: Response): number | null {
  const said = headers.get('retry-after');
  if (said === null) return null;
  const ms = /^\d+$/.test(said) ? Number(said) * 1000 : Date.parse(said) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

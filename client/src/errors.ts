import type { ErrorDetails, ErrorType } from './types.js';

/** The service refused a request or failed. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    readonly status: number,
    /** `unknown` if the response is not from the service, for example from a proxy. */
    readonly type: ErrorType | 'unknown',
    message: string,
    /** The details of the error type. `is` narrows their type. */
    readonly details: unknown,
    /** The request's id, to give to the operator. */
    readonly requestId: string | null,
    /** True if a retry can help. The client has already retried for up to `retryForMs`. */
    readonly retryable: boolean,
    /** The delay that the service asks for before a retry. */
    readonly retryAfterMs: number | null,
  ) {
    super(message);
  }

  /** Narrows the error, including its details, to one type. */
  is<Type extends ErrorType>(type: Type): this is ApiError & { type: Type; details?: ErrorDetails<Type> } {
    return this.type === type;
  }
}

/** No response: the service could not be reached, or the connection broke. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** @internal Converts an error response. */
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

/** @internal A success whose content is none of the service's, such as the sign-in page of a proxy. Another try gets the same. */
export function unexpectedAnswer(response: Response, expected: string): ApiError {
  const contentType = response.headers.get('content-type');
  const { origin, pathname } = response.redirected ? new URL(response.url) : { origin: '', pathname: '' };
  const came = [
    `${response.status} with ${contentType === null ? 'no content type' : `the content type ${contentType.slice(0, 100)}`}`,
    ...(response.redirected ? [`after a redirect to ${origin}${pathname}`] : []),
  ];
  return new ApiError(
    response.status,
    'unknown',
    `The answer is not the service's: ${came.join(', ')}, in place of ${expected}. Look at \`baseUrl\`, and at proxies before the service: some answer with a page to sign in.`,
    undefined,
    response.headers.get('x-request-id'),
    false,
    null,
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
 * Decides whether to retry. `X-Should-Retry` has priority. Without it: a response that names a delay (a 429 without
 * one, such as `too_many_running_turns`, can last forever), and the responses of gateways while the service is away.
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

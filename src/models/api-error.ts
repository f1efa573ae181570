import type { APIError } from '@anthropic-ai/sdk';

/**
 * True for an error of the SDK. Its class does not tell: each provider's package may bring a copy of the SDK of its own.
 */
export function isApiError(error: unknown): error is APIError {
  return error instanceof Error && 'requestID' in error && 'headers' in error;
}

/** True if no answer came: the connection failed, or no token could be had for the request. */
export function isConnectionError(error: unknown): error is APIError {
  return isApiError(error) && error.status === undefined && error.headers === undefined;
}

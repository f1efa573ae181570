import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { RedirectError, UnsafeAddressError, type McpNetwork } from '../../network/network.js';
import { failureReason } from '../reasons.js';
import { OauthFailure, OauthUnavailableError } from './failure.js';

/** Shorter than the 10 s after which Postgres ends an idle transaction: a refresh holds a row lock. */
export const REQUEST_TIMEOUT_MS = 8000;
const MAX_RESPONSE_BYTES = 1024 * 1024;
const TRANSIENT = new Set([408, 425, 429]);

/**
 * The fetch for the SDK's OAuth functions: on the guarded network, with limits of time and size. Redirects are refused,
 * because they would send codes and tokens to another host. A failure is never a TypeError: the SDK takes that for a
 * browser's CORS problem and ignores it.
 */
export function oauthFetch(network: McpNetwork): FetchLike {
  return async (url, init = {}) => {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    try {
      const limits = { budget: { bytes: MAX_RESPONSE_BYTES }, maxRedirects: 0 };
      const response = await network.fetch(new URL(url), { ...init, signal }, limits);
      if (response.status >= 500 || TRANSIENT.has(response.status)) {
        await response.body?.cancel();
        throw new OauthUnavailableError(`the authorization server failed (HTTP ${response.status})`);
      }
      const body = await response.arrayBuffer();
      const { status, headers } = response;
      return new Response([204, 205, 304].includes(status) ? null : body, { status, headers });
    } catch (error) {
      if (error instanceof OauthUnavailableError) throw error;
      if (signal.aborted) throw new OauthUnavailableError('the authorization server did not answer in time');
      throw requestFailure(error);
    }
  };
}

/** A refused address or redirect fails permanently; any other network failure is retryable. */
function requestFailure(error: unknown): Error {
  const text = `the request to its authorization server failed: ${failureReason(error)}`;
  const isRefused = error instanceof RedirectError || (error as Error).cause instanceof UnsafeAddressError;
  return isRefused ? new OauthFailure(text) : new OauthUnavailableError(text);
}

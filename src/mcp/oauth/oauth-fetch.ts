import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ResponseTooLargeError } from '../../network/bounded-body.js';
import { RedirectError, UnsafeAddressError, type GuardedNetwork } from '../../network/network.js';
import { failureReason } from '../reasons.js';
import { MAX_DOCUMENT_BYTES, parseObject, reduceObject } from './document.js';
import { OauthFailure, OauthUnavailableError } from './failure.js';

export const REQUEST_TIMEOUT_MS = 8000;
const TRANSIENT = new Set([408, 425, 429]);

/**
 * The fetch for the SDK's OAuth functions: on the guarded network, with limits of time and size, and with the documents
 * of a GET reduced to what is used. Redirects are refused, because they would send codes and tokens to another host. A failure is
 * never a TypeError: the SDK takes that for a browser's CORS problem and ignores it.
 */
export function oauthFetch(network: GuardedNetwork, options: { signal?: AbortSignal } = {}): FetchLike {
  return async (url, init = {}) => {
    const signal = options.signal ?? AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    try {
      const limits = { left: { bytes: MAX_DOCUMENT_BYTES }, maxRedirects: 0 };
      const response = await network.fetch(new URL(url), { ...init, signal }, limits);
      if (response.status >= 500 || TRANSIENT.has(response.status)) {
        await response.body?.cancel();
        throw new OauthUnavailableError(`the authorization server failed (HTTP ${response.status})`);
      }
      const { status, headers } = response;
      const type = headers.get('content-type');
      const body = await readBody(response, init.method);
      // Sites that answer every path with their page have no document there.
      if (body === null && response.ok && init.method !== 'POST') return new Response(null, { status: 404 });
      return new Response(body, { status, ...(type !== null && { headers: { 'content-type': type } }) });
    } catch (error) {
      if (error instanceof OauthUnavailableError || error instanceof OauthFailure) throw error;
      if (signal.aborted) throw new OauthUnavailableError('the authorization server did not answer in time');
      throw requestFailure(error);
    }
  };
}

/** Of a GET, the document or null; its page at a well-known path may have any size. Of a POST, the body as it is. */
async function readBody(response: Response, method = 'GET'): Promise<string | null> {
  if (method !== 'GET') return (await response.text()) || null;
  if (!response.ok) {
    await response.body?.cancel();
    return null;
  }
  const document = parseObject(await response.text());
  return document === null ? null : JSON.stringify(reduceObject(document));
}

/** A refused address or redirect fails permanently; any other network failure is retryable. */
function requestFailure(error: unknown): Error {
  if (error instanceof ResponseTooLargeError) {
    return new OauthFailure(`an OAuth document has more than ${MAX_DOCUMENT_BYTES / 1024} KiB`);
  }
  const text = `the request to its authorization server failed: ${failureReason(error)}`;
  const isRefused = error instanceof RedirectError || (error as Error).cause instanceof UnsafeAddressError;
  return isRefused ? new OauthFailure(text) : new OauthUnavailableError(text);
}

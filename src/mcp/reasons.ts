import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { errors } from 'undici';
import { UnsealError } from '../platform/sealed.js';
import { ResponseTooLargeError } from '../network/bounded-body.js';
import { AnswerLostError } from './mcp-request.js';
import { AnswerRefusedError, McpProtocolError } from './wire/errors.js';
import { RedirectError, UnsafeAddressError } from '../network/network.js';
import { AuthorizationRequiredError, OauthFailure, OauthUnavailableError } from './oauth/failure.js';

/** The time limit of the whole attempt is over. */
export class McpTimeoutError extends Error {
  override readonly name = 'McpTimeoutError';
  constructor(readonly seconds: number) {
    super(`no answer within ${seconds} seconds`);
  }
}

const NETWORK_REASONS: Record<string, string> = {
  ENOTFOUND: 'its host name does not resolve (DNS)',
  ENODATA: 'its host name does not resolve (DNS)',
  EAI_AGAIN: 'its host name could not be resolved just now (DNS)',
  ECONNREFUSED: 'it refused the connection',
  ECONNRESET: 'it closed the connection without an answer',
  EPIPE: 'it closed the connection without an answer',
  UND_ERR_SOCKET: 'it closed the connection without an answer',
  EHOSTUNREACH: 'no network route leads to it',
  ENETUNREACH: 'no network route leads to it',
  EADDRNOTAVAIL: 'no network route leads to it',
  ETIMEDOUT: 'it did not accept the connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'it did not accept the connection in time',
  UND_ERR_HEADERS_OVERFLOW: 'its answer has too large headers',
  CERT_HAS_EXPIRED: 'its TLS certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its TLS certificate is for another host name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its TLS certificate is not trusted (self-signed)',
  SELF_SIGNED_CERT_IN_CHAIN: 'its TLS certificate is not trusted (self-signed)',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its TLS certificate is not trusted (incomplete chain)',
  UNABLE_TO_GET_ISSUER_CERT: 'its TLS certificate is not trusted (unknown issuer)',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its TLS certificate is not trusted (unknown issuer)',
};

const STATUS_REASONS: Record<number, string> = {
  400: 'it refused the request as malformed (HTTP 400)',
  401: 'it rejected the credential (HTTP 401)',
  403: 'it rejected the credential or denies access (HTTP 403)',
  404: 'nothing is at this path (HTTP 404)',
  405: 'this path does not take MCP requests over Streamable HTTP (HTTP 405)',
  406: 'this path does not take MCP requests over Streamable HTTP (HTTP 406)',
  410: 'nothing is at this path any more (HTTP 410)',
  429: 'it limits the rate of requests (HTTP 429)',
};

/**
 * Why a server could not be used, as a clause about "it", for the person who registered it. It contains no text from a
 * response, which could echo a credential.
 */
export function failureReason(error: unknown): string {
  if (error instanceof McpTimeoutError) return `it did not answer within ${error.seconds} seconds`;
  if (error instanceof UnsealError) return 'its stored credential cannot be opened; set auth again';
  if (error instanceof AuthorizationRequiredError || error instanceof OauthFailure) return error.message;
  if (error instanceof OauthUnavailableError) return `its authorization could not be refreshed: ${error.message}`;
  if (error instanceof RedirectError) {
    return error.unsafe
      ? 'it redirects to an address that is not public or not https'
      : `it redirects in a way that cannot be followed (HTTP ${error.status})`;
  }
  if (error instanceof AnswerRefusedError) return error.message;
  if (error instanceof StreamableHTTPError) return httpReason(error.code);
  if (error instanceof McpError) return `it refused the MCP request (JSON-RPC error ${error.code})`;
  if (error instanceof AnswerLostError) return 'the connection ended before an MCP answer came';
  const reason = connectionFailure(error);
  if (reason !== undefined) return reason;
  if (error instanceof McpProtocolError) return `it breaks the MCP protocol: ${error.message}`;
  return 'its answer is not the MCP protocol, or of a version that is not supported';
}

/** True if the answer exceeds a limit. */
export function answerRefused(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof AnswerRefusedError || cause instanceof ResponseTooLargeError) return true;
  }
  return false;
}

/** Why there was no HTTP response, as a clause about "it"; undefined for other failures. */
export function connectionFailure(error: unknown): string | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ResponseTooLargeError) return 'its answer is too large';
    if (cause instanceof errors.HTTPParserError) return 'its answer is not HTTP';
    if (cause instanceof UnsafeAddressError) return 'its host resolves to a private or local address';
    const reason = networkReason(cause);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** True if the request was never sent: no connection was made or allowed. */
export function neverReached(error: unknown): boolean {
  if (error instanceof RedirectError) return true;
  if (error instanceof AuthorizationRequiredError || error instanceof OauthUnavailableError) return true;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof UnsafeAddressError || cause instanceof UnsealError) return true;
    const code = codeOf(cause);
    if (code === undefined) continue;
    if (/^(ENOTFOUND|ENODATA|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/.test(code)) {
      return true;
    }
    if (isTlsCode(code)) return true;
  }
  return false;
}

/** True if the connection closed before the answer arrived. The server may have processed the request. */
export function connectionBroke(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof AnswerLostError) return true;
    if (/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/.test(codeOf(cause) ?? '')) return true;
  }
  return false;
}

function httpReason(status: number | undefined): string {
  if (status === undefined || status < 100) return 'its answer is not the MCP protocol (wrong content type)';
  if (status >= 300 && status < 400) return `it redirects in a way that cannot be followed (HTTP ${status})`;
  return STATUS_REASONS[status] ?? (status >= 500 ? `it failed (HTTP ${status})` : `it refused (HTTP ${status})`);
}

function networkReason(error: Error): string | undefined {
  const code = codeOf(error);
  if (code === undefined) return undefined;
  const known = NETWORK_REASONS[code];
  if (known !== undefined) return known;
  return isTlsCode(code) ? `TLS failed (${code})` : undefined;
}

/** After attempts at several addresses, use the first error. */
function codeOf(error: Error): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string') return code;
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return first instanceof Error ? codeOf(first) : undefined;
}

function isTlsCode(code: string): boolean {
  return code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') || code.includes('CERT') || code === 'EPROTO';
}

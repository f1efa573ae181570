import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { asJsonObject } from '../platform/json-object.js';
import { UnsealError } from '../platform/sealed.js';
import { ResponseTooLargeError } from '../network/bounded-body.js';
import { AnswerLostError } from './transport/request.js';
import { AnswerRefusedError, HttpStatusError, McpProtocolError } from './transport/errors.js';
import { causesOf, connectionBroke, connectionFailure, neverConnected } from '../network/failures.js';
import { RedirectError } from '../network/network.js';
import { NotAuthorizedError } from './not-authorized.js';
import { AuthorizationRequiredError, OauthFailure, OauthUnavailableError } from './oauth/failure.js';

/** The time limit of the whole attempt is over. */
export class McpTimeoutError extends Error {
  override readonly name = 'McpTimeoutError';
  constructor(readonly seconds: number) {
    super(`no answer within ${seconds} seconds`);
  }
}

/** JSON-RPC error of servers that speak only a newer MCP. */
const UNSUPPORTED_VERSION = -32022;
const VERSION_WORDS = /support.*protocol.?version|protocol.?version.*support|unsupported (mcp )?version/is;
const WRONG_VERSION = 'it speaks only versions of MCP that this service does not speak';

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
  if (
    error instanceof AuthorizationRequiredError ||
    error instanceof NotAuthorizedError ||
    error instanceof OauthFailure
  )
    return error.message;
  if (error instanceof OauthUnavailableError) return `its authorization could not be refreshed: ${error.message}`;
  if (error instanceof RedirectError) {
    return error.unsafe
      ? 'it redirects to an address that is not public or not https'
      : `it redirects in a way that cannot be followed (HTTP ${error.status})`;
  }
  if (error instanceof AnswerRefusedError) return error.message;
  if (error instanceof HttpStatusError) return httpReason(error.status);
  if (refusesVersion(error)) return WRONG_VERSION;
  if (error instanceof McpError) return `it refused the MCP request (JSON-RPC error ${error.code})`;
  if (error instanceof AnswerLostError) return 'the connection ended before an MCP answer came';
  const reason = connectionFailure(error);
  if (reason !== undefined) return reason;
  if (error instanceof McpProtocolError) return `it breaks the MCP protocol: ${error.message}`;
  return 'its answer is not the MCP protocol, or of a version that is not supported';
}

/** The SDK, too, throws an error if the server chooses a version that the SDK does not know. */
function refusesVersion(error: unknown): boolean {
  if (!(error instanceof McpError))
    return /^Server's protocol version is not supported/.test((error as Error)?.message);
  if (error.code === UNSUPPORTED_VERSION || VERSION_WORDS.test(error.message)) return true;
  return Array.isArray(asJsonObject(error.data).supported);
}

/** True if the answer exceeds a limit. */
export function answerRefused(error: unknown): boolean {
  return causesOf(error).some((cause) => cause instanceof AnswerRefusedError || cause instanceof ResponseTooLargeError);
}

function httpReason(status: number): string {
  if (status < 300) return 'its answer is not the MCP protocol (wrong content type)';
  if (status < 400) return `it redirects in a way that cannot be followed (HTTP ${status})`;
  return STATUS_REASONS[status] ?? (status >= 500 ? `it failed (HTTP ${status})` : `it refused (HTTP ${status})`);
}

/**
 * Why a server did not take the credential of a user: it answered 401, the authorization has ended, or the credential cannot be
 * opened. In each case the request was not processed. Null for any other error.
 */
export function refusedCredential(error: unknown): string | null {
  if (error instanceof HttpStatusError && error.status === 401) return failureReason(error);
  if (error instanceof AuthorizationRequiredError)
    return error.reason ?? 'its authorization has ended, or its refresh was refused';
  return error instanceof UnsealError || error instanceof NotAuthorizedError ? failureReason(error) : null;
}

/** True if the request was never sent: no connection was made or allowed. */
export function neverReached(error: unknown): boolean {
  if (error instanceof AuthorizationRequiredError || error instanceof OauthUnavailableError) return true;
  if (error instanceof NotAuthorizedError) return true;
  return neverConnected(error) || causesOf(error).some((cause) => cause instanceof UnsealError);
}

/** True if the connection closed before the answer arrived. The server may have processed the request. */
export function answerLost(error: unknown): boolean {
  return connectionBroke(error) || causesOf(error).some((cause) => cause instanceof AnswerLostError);
}

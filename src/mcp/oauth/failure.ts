import { ServiceError } from '../../platform/errors.js';
import { UnsealError } from '../../platform/sealed.js';

/** An authorization failed. `message` is a clause for people. */
export class OauthFailure extends Error {
  override readonly name = 'OauthFailure';
}

/** The authorization server did not answer, or answered 408, 429 or 5xx: a retry may succeed. */
export class OauthUnavailableError extends Error {
  override readonly name = 'OauthUnavailableError';
}

/** The authorization server refused a request. Its words are cleaned: one line, without the secrets of the request. */
export class OauthRefusedError extends OauthFailure {
  constructor(
    /** The code, such as `invalid_grant`. */
    readonly code: string,
    description: string | null,
  ) {
    super(`the authorization server refused the request (${code}${description === null ? '' : `: “${description}”`})`);
  }

  /** The server does not know the client, or does not take the way in which it identified itself. */
  get isAboutClient(): boolean {
    return ABOUT_CLIENT.has(this.code);
  }
}

/** `unauthorized_client`, `invalid_client_id`: some servers say so of a client that they do not know. */
const ABOUT_CLIENT: ReadonlySet<string> = new Set([
  'invalid_client',
  'invalid_client_id',
  'unauthorized_client',
  'invalid_request',
]);

/** No valid tokens are left: a person must authorize the server again. `reason`: a clause about the authorization server. */
export class AuthorizationRequiredError extends Error {
  override readonly name = 'AuthorizationRequiredError';
  constructor(readonly reason?: string) {
    const why = reason === undefined ? '' : `: ${reason}`;
    super(`it needs to be authorized by a person (POST /v1/mcp-servers/{mcp_server_id}/authorize)${why}`);
  }
}

/** The error for clients. */
export function oauthFailed(error: unknown): ServiceError {
  return new ServiceError('mcp_oauth_failed', `The MCP server cannot be authorized: ${oauthReason(error)}.`);
}

export function oauthReason(error: unknown): string {
  if (error instanceof OauthFailure || error instanceof OauthUnavailableError) return error.message;
  if (error instanceof UnsealError) return 'its stored secrets cannot be opened; set auth again';
  return 'the authorization server broke the protocol';
}

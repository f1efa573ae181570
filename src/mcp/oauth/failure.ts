import { OAuthError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { ServiceError } from '../../platform/errors.js';
import { UnsealError } from '../../platform/sealed.js';

/** An authorization failed. `message` is a clause for people and never quotes the server's text. */
export class OauthFailure extends Error {
  override readonly name = 'OauthFailure';
}

/** The authorization server did not answer, or answered 408, 429 or 5xx: a retry may succeed. */
export class OauthUnavailableError extends Error {
  override readonly name = 'OauthUnavailableError';
}

/** No valid tokens are left: a person must authorize the server again. */
export class AuthorizationRequiredError extends Error {
  override readonly name = 'AuthorizationRequiredError';
  constructor() {
    super('it needs to be authorized by a person (POST /v1/mcp-servers/{mcp_server_id}/authorize)');
  }
}

/** The error for clients, without text from the authorization server: it may echo secrets. */
export function oauthFailed(error: unknown): ServiceError {
  return new ServiceError('mcp_oauth_failed', `The MCP server cannot be authorized: ${oauthReason(error)}.`);
}

export function oauthReason(error: unknown): string {
  if (error instanceof OauthFailure || error instanceof OauthUnavailableError) return error.message;
  if (error instanceof UnsealError) return 'its stored secrets cannot be opened; set auth again';
  if (error instanceof OAuthError) return `the authorization server refused the request (${error.errorCode})`;
  return 'the authorization server broke the protocol';
}

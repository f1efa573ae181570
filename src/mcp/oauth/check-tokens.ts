import type { OAuthTokens as SdkTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { isHeaderValue } from '../auth.js';
import { OauthFailure } from './failure.js';
import type { OauthTokens } from './grants.js';

/**
 * Validates tokens before they are stored. @throws OauthFailure if the access token cannot be sent as a bearer token
 */
export function checkTokens({ access_token, refresh_token, expires_in, token_type }: SdkTokens): OauthTokens {
  if (token_type.toLowerCase() !== 'bearer' || !isHeaderValue(access_token)) {
    throw new OauthFailure('its authorization server issues tokens that are no bearer tokens');
  }
  const isLifetime = expires_in !== undefined && Number.isFinite(expires_in) && expires_in > 0;
  return {
    access_token,
    ...(refresh_token !== undefined && { refresh_token }),
    ...(isLifetime && { expires_in: Math.min(expires_in, MAX_LIFETIME_SECONDS) }),
  };
}

/** A year: a longer lifetime has no benefit and could overflow a timestamp. */
const MAX_LIFETIME_SECONDS = 31_536_000;

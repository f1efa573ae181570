import type { JsonObject } from '../../platform/json-object.js';
import { isHeaderValue } from '../auth.js';
import { OauthFailure } from './failure.js';
import type { OauthTokens } from './grants.js';

/**
 * Validates tokens before they are stored. Servers leave `token_type` out, and write `expires_in` as a text.
 * @throws OauthFailure if the access token cannot be sent as a bearer token
 */
export function checkTokens({ access_token, refresh_token, expires_in, token_type }: JsonObject): OauthTokens {
  const isBearer =
    token_type === undefined || (typeof token_type === 'string' && token_type.toLowerCase() === 'bearer');
  if (!isBearer || typeof access_token !== 'string' || !isHeaderValue(access_token)) {
    throw new OauthFailure('its authorization server issues tokens that are no bearer tokens');
  }
  const lifetime = typeof expires_in === 'string' ? Number.parseFloat(expires_in) : expires_in;
  const isLifetime = typeof lifetime === 'number' && Number.isFinite(lifetime) && lifetime > 0;
  return {
    access_token,
    ...(typeof refresh_token === 'string' && refresh_token !== '' && { refresh_token }),
    ...(isLifetime && { expires_in: Math.min(lifetime, MAX_LIFETIME_SECONDS) }),
  };
}

/** A year: a longer lifetime has no benefit and could overflow a timestamp. */
const MAX_LIFETIME_SECONDS = 31_536_000;

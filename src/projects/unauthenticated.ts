import { ServiceError } from '../platform/errors.js';

/** The error of a missing, malformed, unknown, revoked or expired key: it never says which. */
export function unauthenticated(): ServiceError {
  return new ServiceError(
    'authentication_error',
    'This needs a valid API key: send it as "Authorization: Bearer <API_KEY>".',
    undefined,
    { 'WWW-Authenticate': 'Bearer' },
  );
}

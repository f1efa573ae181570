import { ERROR_STATUS, type ErrorType } from '../../../src/platform/errors.js';
import type { JsonSchema } from '../core/operation.js';

const header = (description: string, type: 'string' | 'integer' | 'boolean' = 'string'): JsonSchema => ({
  description,
  schema: { type },
});

export const HEADERS: Record<string, JsonSchema> = {
  'X-Request-Id': header('Id of this request. A valid X-Request-Id that you send is used.'),
  'RateLimit-Limit': header('Limit of requests per minute.', 'integer'),
  'RateLimit-Remaining': header('Requests left in this window.', 'integer'),
  'RateLimit-Reset': header('Seconds until the limit resets.', 'integer'),
  'Retry-After': header('Seconds to wait before trying again.', 'integer'),
  'X-Should-Retry': header('Whether a retry of the same request can succeed.', 'boolean'),
  'Idempotency-Replayed': header(
    '`true` if this is the response to an earlier request with the same key; otherwise absent.',
    'boolean',
  ),
  'WWW-Authenticate': header('`Bearer`: send an API key.'),
};

export const RATE_LIMIT = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

export function referToHeaders(...names: string[]): Record<string, JsonSchema> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Additional response headers of error types (decisions.md "HTTP"). */
export function headersOf(type: ErrorType): string[] {
  if (type === 'authentication_error') return ['WWW-Authenticate'];
  if (['rate_limit_exceeded', 'too_many_streams', 'too_many_requests'].includes(type)) return ['Retry-After'];
  if (type === 'idempotency_key_in_use' || ERROR_STATUS[type] === 503) return ['X-Should-Retry', 'Retry-After'];
  return [409, 502].includes(ERROR_STATUS[type]) ? ['X-Should-Retry'] : [];
}

import { ERROR_STATUS, type ErrorType } from '../../../src/platform/errors.js';
import { webhookRequest } from './openapi-webhooks.js';
import { errorsByStatus, errorSchemaName, errorSchemas } from './openapi-errors.js';
import type { JsonSchema, Operation, Route } from '../core/operation.js';

const header = (description: string, type: 'string' | 'integer' | 'boolean' = 'string'): JsonSchema => ({
  description,
  schema: { type },
});
const HEADERS: Record<string, JsonSchema> = {
  'X-Request-Id': header('Id of this request. A valid X-Request-Id that you send is used.'),
  'RateLimit-Limit': header('Limit of requests per minute.', 'integer'),
  'RateLimit-Remaining': header('Requests left in this window.', 'integer'),
  'RateLimit-Reset': header('Seconds until the limit resets.', 'integer'),
  'Retry-After': header('Seconds to wait before trying again.', 'integer'),
  'X-Should-Retry': header('Whether a retry of the same request can succeed.', 'boolean'),
  'Idempotency-Replayed': header('This is the response to an earlier request with the same key.', 'boolean'),
  'WWW-Authenticate': header('Bearer'),
};
const headers = (...names: string[]): Record<string, JsonSchema> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** Version of the interface. Its major version is part of the paths. */
const INTERFACE_VERSION = '1.0.0';

export function openApiDocument(routes: Route[]): JsonSchema {
  const components: Record<string, JsonSchema> = errorSchemas();
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes) {
    const [method, path] = route;
    (paths[path] ??= {})[method.toLowerCase()] = hoist(operationOf(route), components) as JsonSchema;
  }
  const webhooks = hoist(webhookRequest, components);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Agent Session Service',
      version: INTERFACE_VERSION,
      description: 'Runs an agent in durable conversations: sessions, turns and live event streams.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ apiKey: [] }],
    tags: [...new Set(routes.map(tagOf))].map((name) => ({ name })),
    paths,
    webhooks,
    components: {
      schemas: components,
      headers: HEADERS,
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: `ask_…`.' } },
    },
  };
}

function operationOf(route: Route): JsonSchema {
  const [, , permission, , operation] = route;
  const requestBody = requestBodyOf(route);
  return {
    operationId: operation.id,
    summary: operation.summary,
    ...(permission === null ? { security: [] } : { description: `Needs the permission \`${permission}\`.` }),
    tags: [tagOf(route)],
    parameters: parametersOf(route),
    ...(requestBody && { requestBody }),
    responses: responsesOf(route),
  };
}

/** `/v1/sessions/{session_id}/events` → `sessions`. */
function tagOf([, path]: Route): string {
  return path.replace(/^\/v1/, '').split('/')[1]!;
}

function parametersOf([, path, , , operation]: Route): JsonSchema[] {
  const own = (operation.query?.properties ?? {}) as Record<string, JsonSchema>;
  return [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => parameter('path', name!, { type: 'string' })),
    ...(operation.paged ? PAGING : []),
    ...Object.entries(own).map(([name, { description, ...schema }]) => parameter('query', name, schema, description)),
    ...(operation.idempotent ? [IDEMPOTENCY_KEY] : []),
    ...Object.entries(operation.headers ?? {}).map(([name, text]) =>
      parameter('header', name, { type: 'string' }, text),
    ),
  ];
}

function parameter(where: 'path' | 'query' | 'header', name: string, schema: JsonSchema, text?: unknown): JsonSchema {
  return {
    name,
    in: where,
    ...(where === 'path' && { required: true }),
    ...(text != null && { description: text }),
    ...(schema.type === 'object' && { style: 'deepObject', explode: true }),
    schema,
  };
}

const PAGING = [
  parameter(
    'query',
    'limit',
    { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    'Maximum number of items in a page.',
  ),
  parameter('query', 'cursor', { type: 'string' }, '`meta.next_cursor` of the previous page.'),
];
const IDEMPOTENCY_KEY = parameter(
  'header',
  'Idempotency-Key',
  { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' },
  'Makes retries safe: for 24 hours, the same key and body return the first response.',
);

function requestBodyOf([method, , , , operation]: Route): JsonSchema | null {
  if (operation.multipart) {
    const file = { type: 'string', contentMediaType: 'application/octet-stream' };
    const schema = { type: 'object', properties: { file }, required: ['file'], additionalProperties: false };
    return { required: true, content: { 'multipart/form-data': { schema } } };
  }
  if (operation.body === undefined) return null;
  const media = { schema: operation.body };
  return {
    required: true,
    content: {
      'application/json': media,
      ...(method === 'PATCH' && { 'application/merge-patch+json': media }),
    },
  };
}

function responsesOf(route: Route): Record<string, JsonSchema> {
  const [, , , limited, operation] = route;
  const everywhere = limited ? ['X-Request-Id', ...RATE_LIMIT] : ['X-Request-Id'];
  const errors = [...errorsByStatus(route)].sort(([a], [b]) => a - b);
  return {
    [operation.success.status]: successOf(operation, everywhere),
    ...Object.fromEntries(errors.map(([status, types]) => [status, errorOf(types, everywhere)])),
    ...(operation.failure && { [operation.failure.status]: successOf({ success: operation.failure }, everywhere) }),
  };
}

const RATE_LIMIT = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

function successOf(
  { success, idempotent }: Pick<Operation, 'success' | 'idempotent'>,
  everywhere: string[],
): JsonSchema {
  const own = Object.entries(success.headers ?? {}).map(([name, text]) => [name, header(text)]);
  const content = { [success.mediaType ?? 'application/json']: success.schema ? { schema: success.schema } : {} };
  return {
    description: success.description,
    headers: {
      ...headers(...everywhere, ...(idempotent ? ['Idempotency-Replayed'] : [])),
      ...(Object.fromEntries(own) as object),
    },
    ...((success.schema ?? success.mediaType) !== undefined && { content }),
  };
}

/** Additional response headers of error types (contract.md §1). */
function headersOf(type: ErrorType): string[] {
  if (type === 'authentication_error') return ['WWW-Authenticate'];
  if (['rate_limit_exceeded', 'too_many_streams', 'too_many_requests'].includes(type)) return ['Retry-After'];
  if (type === 'idempotency_key_in_use' || ERROR_STATUS[type] === 503) return ['X-Should-Retry', 'Retry-After'];
  return [409, 502].includes(ERROR_STATUS[type]) ? ['X-Should-Retry'] : [];
}

function errorOf(types: ErrorType[], everywhere: string[]): JsonSchema {
  const refs = types.map((type) => ({ $ref: `#/components/schemas/${errorSchemaName(type)}` }));
  return {
    description: types.map((type) => `\`${type}\``).join(', '),
    headers: headers(...everywhere, ...new Set(types.flatMap(headersOf))),
    content: { 'application/json': { schema: refs.length === 1 ? refs[0] : { oneOf: refs } } },
  };
}

/** Moves every schema with an `$id` to the components and replaces it by a reference. */
function hoist(value: unknown, components: Record<string, JsonSchema>): unknown {
  if (Array.isArray(value)) return value.map((item) => hoist(item, components));
  if (typeof value !== 'object' || value === null) return value;
  const { $id, ...rest } = value as JsonSchema;
  const copy = Object.fromEntries(Object.entries(rest).map(([key, child]) => [key, hoist(child, components)]));
  if (typeof $id !== 'string') return '$id' in value ? { $id: hoist($id, components), ...copy } : copy;
  components[$id] = copy;
  return { $ref: `#/components/schemas/${$id}` };
}

import { VERSION } from '../../../src/platform/version.js';
import type { ErrorType } from '../../../src/platform/errors.js';
import { ERROR_STATUS } from '../../../src/platform/errors.js';
import type { JsonSchema, Operation, Route } from '../core/operation.js';
import { Components } from './components.js';
import { errorDetails, errorResponseSchema, errorsByStatus, strictErrorSchema } from './openapi-errors.js';
import { headersOf, HEADERS, RATE_LIMIT, referToHeaders } from './openapi-headers.js';
import { parametersOf } from './openapi-parameters.js';
import { TAGS, tagOf } from './openapi-tags.js';
import { webhookRequest } from './openapi-webhooks.js';

/** @param isClosed describes each response exactly: no other fields, and of each error its own details. For tests */
export function openApiDocument(routes: Route[], { isClosed = false } = {}): JsonSchema {
  const components = new Components(isClosed);
  const errorTypes = isClosed ? (Object.keys(ERROR_STATUS) as ErrorType[]) : [];
  const strict = new Map(errorTypes.map((type) => [type, components.ofResponse(strictErrorSchema(type))]));
  const errorSchemaOf = (types: ErrorType[]): JsonSchema =>
    isClosed ? { anyOf: types.map((type) => strict.get(type)) } : components.ofResponse(errorResponseSchema);
  const webhooks = components.ofResponse({ event: webhookRequest('webhookEvent') });
  const responses = routes.map((route) => responsesOf(route, components, errorSchemaOf));
  if (!isClosed) addDetailsByType(components);
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const [index, route] of routes.entries()) {
    const [method, path] = route;
    (paths[path] ??= {})[method.toLowerCase()] = operationOf(route, components, responses[index]!);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Agent Session Service',
      version: VERSION,
      description: 'Runs an agent in durable conversations: sessions, turns and live event streams.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ apiKey: [] }],
    tags: TAGS,
    paths,
    webhooks,
    components: {
      schemas: components.schemas,
      headers: HEADERS,
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An API key: `ask_…`. The security of an operation names the permission that the key must have. Where the description of an operation says so, a session token (`sst_…`) can take its place.',
        },
      },
    },
  };
}

/** Says which details each error type has. A schema cannot, because they depend on a value beside them. The client is made from it. */
function addDetailsByType(components: Components): void {
  const { properties } = components.ofResponse({ properties: errorDetails() });
  Object.assign(components.schemas.ErrorDetails!, { 'x-details-by-type': properties });
}

function operationOf(route: Route, components: Components, responses: JsonSchema): JsonSchema {
  const [, , permission, , operation, tokenScope] = route;
  const needed = permission === null ? 'Needs no key.' : `Needs the permission \`${permission}\`.`;
  const orToken = tokenScope === null ? '' : ` A session token of its session needs the scope \`${tokenScope}\`.`;
  const requestBody = requestBodyOf(route, components);
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: `${operation.description}\n\n${needed}${orToken}`,
    security: permission === null ? [] : [{ apiKey: [permission] }],
    tags: [tagOf(route)],
    ...(operation.repeatable === false && { 'x-repeatable': false }),
    parameters: parametersOf(route).map((one) => components.ofRequest(one)),
    ...(requestBody && { requestBody }),
    ...(operation.callbacks && { callbacks: components.ofResponse(operation.callbacks) }),
    responses,
  };
}

const FILE_BODY = {
  $id: 'FileUpload',
  description: 'A form with one part.',
  type: 'object',
  properties: {
    file: {
      type: 'string',
      format: 'binary',
      contentMediaType: 'application/octet-stream',
      description: 'The content. Its part has a file name.',
    },
  },
  required: ['file'],
  additionalProperties: false,
};

function requestBodyOf([, , , , operation]: Route, components: Components): JsonSchema | null {
  if (operation.multipart) {
    const example = { file: 'the bytes of the file' };
    return { required: true, content: { 'multipart/form-data': { schema: components.ofRequest(FILE_BODY), example } } };
  }
  if (operation.body === undefined) return null;
  const media = { schema: components.ofRequest(operation.body), example: exampleOf(operation.body) };
  return {
    required: operation.optionalBody !== true,
    // PATCH takes `application/merge-patch+json` too. Generators make two methods of two types, or a module that cannot be imported.
    content: { 'application/json': media },
  };
}

function responsesOf(
  route: Route,
  components: Components,
  errorSchemaOf: (types: ErrorType[]) => JsonSchema,
): JsonSchema {
  const [, , , limited, operation] = route;
  const everywhere = limited ? ['X-Request-Id', ...RATE_LIMIT] : ['X-Request-Id'];
  const errors = [...errorsByStatus(route)].sort(([a], [b]) => a - b);
  const errorOf = (types: ErrorType[]): JsonSchema => ({
    description: types.map((type) => `\`${type}\``).join(', '),
    headers: referToHeaders(...everywhere, ...new Set(types.flatMap(headersOf))),
    content: { 'application/json': { schema: errorSchemaOf(types) } },
  });
  const { success, repeated, failure, idempotent } = operation;
  const replayed = idempotent ? ['Idempotency-Replayed'] : [];
  return {
    ...(repeated && { [repeated.status]: answerOf(repeated, everywhere, components) }),
    [success.status]: answerOf(success, [...everywhere, ...replayed], components),
    ...Object.fromEntries(errors.map(([status, types]) => [status, errorOf(types)])),
    ...(failure && { [failure.status]: answerOf(failure, everywhere, components) }),
  };
}

function answerOf(success: Operation['success'], headerNames: string[], components: Components): JsonSchema {
  const { schema, mediaType, description, headers = {}, example = exampleOf(schema) } = success;
  const own = Object.entries(headers).map(([name, text]) => [name, { description: text, schema: { type: 'string' } }]);
  const media = {
    ...(schema && { schema: components.ofResponse(schema) }),
    ...(example !== undefined && { example }),
  };
  return {
    description,
    headers: { ...referToHeaders(...headerNames), ...(Object.fromEntries(own) as object) },
    ...((schema ?? mediaType) !== undefined && {
      content: Object.fromEntries(mediaTypesOf(mediaType).map((type) => [type, media])),
    }),
  };
}

/** Some generators know no type for bytes of any kind, and drop an operation that answers with one they do not know, such as ZIP. */
function mediaTypesOf(mediaType = 'application/json'): string[] {
  return ['*/*', 'application/zip'].includes(mediaType) ? ['application/octet-stream', mediaType] : [mediaType];
}

function exampleOf(schema: JsonSchema | undefined): unknown {
  return (schema?.examples as unknown[] | undefined)?.[0];
}

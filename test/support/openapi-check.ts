import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { openApiDocument } from '../../api/http/openapi/openapi.js';
import { routes } from '../../api/routes.js';
import type { ResponseCheck } from './client.js';
import { reachedBy } from './rows.js';

interface Documented {
  responses: Record<string, { content?: Record<string, { schema?: object }> }>;
}

// Tests look for fields that have no schema, so the objects of responses are closed here.
const document = openApiDocument(routes, { isClosed: true });
const paths = document.paths as Record<string, Record<string, Documented>>;
// A validator runs a few times in a process, so that compiling it costs most: a third of the time with these options.
const ajv = new Ajv2020({ strict: false, allErrors: true, inlineRefs: false, code: { optimize: false } });
formats.default(ajv);
ajv.addSchema(document, 'openapi');
const compiled = new Map<string, ValidateFunction>();

/** Throws when a JSON response is not one that the OpenAPI document names for its operation. */
export const checkAgainstOpenApi: ResponseCheck = (method, path, { status, headers, body }) => {
  reachedBy(method, path, status, body);
  if (headers.get('content-type') !== 'application/json' || method === 'HEAD') return;
  const pointer = pointerOf(method, path, status);
  if (pointer === null) return;
  let validate = compiled.get(pointer);
  if (validate === undefined) {
    validate = ajv.compile({ $ref: `openapi#${pointer}` });
    compiled.set(pointer, validate);
  }
  if (validate(body)) return;
  throw new Error(
    `${method} ${path} answered ${status} with a body that is not in the OpenAPI document: ` +
      `${ajv.errorsText(validate.errors)}\n${JSON.stringify(body, null, 2)}`,
  );
};

const validateFrame = ajv.compile({ $ref: 'openapi#/components/schemas/StreamFrame' });
const validateData = ajv.compile({
  $ref: 'openapi#/components/schemas/StreamFrame/properties/data/contentSchema',
});

/** Throws when a frame of the event stream, or the JSON inside its data, is not as the OpenAPI document describes it. */
export function checkFrame(frame: { id: string; event: string; data: string }): void {
  const { id, data } = frame;
  if (!validateFrame(frame)) throw new Error(`the frame ${id}: ${ajv.errorsText(validateFrame.errors)}`);
  if (!validateData(JSON.parse(data))) {
    throw new Error(`the data of frame ${id}: ${ajv.errorsText(validateData.errors)}`);
  }
}

const validatePayload = ajv.compile({ $ref: 'openapi#/components/schemas/WebhookPayload' });

/** Throws when the body of a request to a webhook is not as the OpenAPI document describes it. */
export function checkPayload(payload: unknown): void {
  if (!validatePayload(payload)) throw new Error(`a webhook's payload: ${ajv.errorsText(validatePayload.errors)}`);
}

function pointerOf(method: string, path: string, status: number): string | null {
  const { pathname } = new URL(path, 'http://host');
  const known = Object.keys(paths).find((template) =>
    new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(pathname),
  );
  const operation = known === undefined ? undefined : paths[known]![method.toLowerCase()];
  if (operation === undefined) return unrouted(pathname, status);
  if (operation.responses[status] === undefined) {
    throw new Error(`${method} ${path} answered ${status}, which the OpenAPI document does not name`);
  }
  return ['', 'paths', known!, method.toLowerCase(), 'responses', status, 'content', 'application/json', 'schema']
    .map((token) => encodeURIComponent(String(token).replaceAll('~', '~0').replaceAll('/', '~1')))
    .join('/');
}

/** Paths and methods that are no operation have these answers only; health and documents are not described. */
function unrouted(pathname: string, status: number): string | null {
  const names: Record<number, string> = {
    401: 'AuthenticationError',
    404: 'NotFoundError',
    405: 'MethodNotAllowedError',
  };
  if (names[status] !== undefined) return `/components/schemas/${names[status]}`;
  if (pathname.startsWith('/v1')) throw new Error(`${pathname} is no operation, and answered ${status}`);
  return null;
}

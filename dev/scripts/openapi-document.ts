/**
 * `npm run client:generate` stores the OpenAPI document of the routes in api/openapi.json, where reviewers see how it changes, and
 * makes the client from it. A build makes the client from the stored document.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openApiDocument } from '../../api/http/openapi/openapi.js';
import { routes } from '../../api/routes.js';

/** One of the file's lines should fit into a window. */
const WIDTH = 120;

export const STORED_DOCUMENT = fileURLToPath(new URL('../../api/openapi.json', import.meta.url));

/** The text of api/openapi.json. */
export function formatDocument(): string {
  return `${format(openApiDocument(routes), '', '')}\n`;
}

/** JSON in which an object or a list is one line if it fits. So are parts that say little and come often, however long. */
function format(value: unknown, indent: string, key: string): string {
  const line = JSON.stringify(value, null, 1).replace(/\n */g, ' ');
  if (typeof value !== 'object' || value === null) return key + line;
  if (indent.length + key.length + line.length < WIDTH || isErrorResponse(value) || isReferences(value))
    return key + line;
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((one) => format(one, inner, ''))
    : Object.entries(value).map(([name, one]) => format(one, inner, `${JSON.stringify(name)}: `));
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${key}${open}\n${parts.map((part) => inner + part).join(',\n')}\n${indent}${close}`;
}

function isErrorResponse(value: object): boolean {
  return 'headers' in value && 'content' in value && JSON.stringify(value.content).includes('/ErrorResponse"');
}

/** The headers of a response, or the variants of a schema. */
function isReferences(value: object): boolean {
  return Object.values(value).every((one) => typeof one === 'object' && one !== null && '$ref' in one);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(STORED_DOCUMENT, formatDocument());

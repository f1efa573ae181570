import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import { openApiDocument } from '../api/http/openapi/openapi.js';
import { routes } from '../api/routes.js';

export const GENERATED = fileURLToPath(new URL('src/generated/schema.ts', import.meta.url));

const HEADER = '// Made from the OpenAPI document of the service by `npm run client:generate`. Not to be edited.\n\n';

type Operations = Record<string, { responses: Record<string, { headers?: unknown }> }>;

/** The types of the API as the client has them, from the document that the service serves. */
export async function clientTypes(): Promise<string> {
  const document = openApiDocument(routes);
  for (const operations of Object.values(document.paths as Record<string, Operations>)) {
    for (const operation of Object.values(operations)) operation.responses = successOf(operation.responses);
  }
  delete (document.components as { headers?: unknown }).headers;
  return HEADER + astToString(await openapiTS(document as unknown as OpenAPI3, { silent: true }));
}

/** Errors are types of their own among the components: repeated for each operation they would be most of the file. */
function successOf(responses: Operations[string]['responses']): Operations[string]['responses'] {
  const [status, { headers: _, ...success }] = Object.entries(responses).find(([status]) => Number(status) < 400)!;
  return { [status]: success };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) void clientTypes().then((types) => writeFile(GENERATED, types));

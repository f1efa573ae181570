import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import { openApiDocument } from '../api/http/openapi/openapi.js';
import { routes } from '../api/routes.js';
import { operationsClass, requestTypes, type PathsOfDocument } from './generate-operations.js';

const HEADER = '// Made from the OpenAPI document of the service by `npm run client:generate`. Not to be edited.\n\n';
const folder = new URL('src/generated/', import.meta.url);

/** The generated files of the client by name, from the document that the service serves. */
export async function generatedFiles(): Promise<Record<string, string>> {
  const { paths, components, ...document } = openApiDocument(routes) as {
    paths: PathsOfDocument;
    components: { schemas: Record<string, object> };
  };
  const schemas = { ...components.schemas, ...requestTypes(paths) };
  const types = await openapiTS(
    { ...document, webhooks: {}, paths: {}, components: { schemas } } as unknown as OpenAPI3,
    // A value that has a default may be left out.
    { silent: true, defaultNonNullable: false },
  );
  return { 'schema.ts': HEADER + astToString(types), 'operations.ts': HEADER + operationsClass(paths) };
}

/** Where a generated file is. */
export function pathOfGenerated(name: string): string {
  return fileURLToPath(new URL(name, folder));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  void generatedFiles().then((files) =>
    Promise.all(Object.entries(files).map(([name, text]) => writeFile(pathOfGenerated(name), text))),
  );
}

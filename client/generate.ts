import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import { Components } from '../api/http/openapi/components.js';
import { errorDetails } from '../api/http/openapi/openapi-errors.js';
import { openApiDocument } from '../api/http/openapi/openapi.js';
import { routes } from '../api/routes.js';
import { filterTypes, operationsClass, type PathsOfDocument, type Schemas } from './generate-operations.js';

const HEADER = '// Made from the OpenAPI document of the service by `npm run client:generate`. Not to be edited.\n\n';
const folder = new URL('src/generated/', import.meta.url);

/** The generated files of the client by name, from the document that the service serves. */
export async function generatedFiles(): Promise<Record<string, string>> {
  const { paths, components, ...document } = openApiDocument(routes) as {
    paths: PathsOfDocument;
    components: { schemas: Schemas };
  };
  const all = {
    ...components.schemas,
    ...filterTypes(paths),
    ErrorDetails: detailsByErrorType(),
  };
  const types = await openapiTS(
    { ...document, webhooks: {}, paths: {}, components: { schemas: await schemasInUse(all) } } as unknown as OpenAPI3,
    // A value that has a default may be left out.
    { silent: true, defaultNonNullable: false },
  );
  // The other declarations are of paths and webhooks, of which there are none.
  const declaration = types.find((node) => 'name' in node && (node.name as { text: string }).text === 'components')!;
  return {
    'schema.ts': HEADER + astToString(declaration),
    'operations.ts': HEADER + operationsClass(paths, components.schemas),
  };
}

/** An object with the details of each error type; an error without details has empty ones. */
function detailsByErrorType(): object {
  const properties = Object.entries(errorDetails()).map(([type, details]) => [type, details ?? { type: 'null' }]);
  return new Components().ofResponse({ type: 'object', properties: Object.fromEntries(properties) as object });
}

/** The schemas that client/src/types.ts names, and those that they refer to. */
async function schemasInUse(all: Record<string, object>): Promise<Record<string, object>> {
  const used: Record<string, object> = {};
  const use = (text: string, name: RegExp): void => {
    for (const [, found] of text.matchAll(name)) {
      if (found! in used) continue;
      used[found!] = all[found!]!;
      use(JSON.stringify(all[found!]), /"#\/components\/schemas\/(\w+)"/g);
    }
  };
  use(await readFile(new URL('src/types.ts', import.meta.url), 'utf8'), /Schemas\['(\w+)'\]/g);
  return used;
}

export function pathOfGenerated(name: string): string {
  return fileURLToPath(new URL(name, folder));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  void generatedFiles().then((files) =>
    Promise.all(Object.entries(files).map(([name, text]) => writeFile(pathOfGenerated(name), text))),
  );
}

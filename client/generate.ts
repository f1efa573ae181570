/**
 * Makes client/src/generated from api/openapi.json. Each build does it, and so does the packing of the client: the files are in no
 * revision. After a change of the API `npm run client:generate` stores the document anew before.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import { filterTypes, operationsClass, type PathsOfDocument, type Schemas } from './generate-operations.js';

const HEADER = '// Made from api/openapi.json by each build. Not to be edited.\n\n';
const DOCUMENT = new URL('../api/openapi.json', import.meta.url);
const FOLDER = new URL('src/generated/', import.meta.url);

interface Document {
  paths: PathsOfDocument;
  components: { schemas: Schemas & { ErrorDetails: { 'x-details-by-type': Record<string, object> } } };
}

/** The generated files of the client by name. */
export async function generatedFiles(): Promise<Record<string, string>> {
  const { paths, components, ...document } = JSON.parse(await readFile(DOCUMENT, 'utf8')) as Document;
  const all = {
    ...components.schemas,
    ...filterTypes(paths),
    // An object with the details of each error type.
    ErrorDetails: { type: 'object', properties: components.schemas.ErrorDetails['x-details-by-type'] },
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
  return fileURLToPath(new URL(name, FOLDER));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await mkdir(FOLDER, { recursive: true });
  for (const [name, text] of Object.entries(await generatedFiles())) await writeFile(pathOfGenerated(name), text);
}

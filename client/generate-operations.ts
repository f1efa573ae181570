/** Makes the class with one method for each operation of the OpenAPI document. */
interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  required?: string[];
}

export type Schemas = Record<string, Schema>;

interface Operation {
  operationId: string;
  summary: string;
  description: string;
  parameters: { in: string; name: string; required?: boolean; description?: string; schema: { type?: string } }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
  /** False: a request without an answer may have had its effect, and is not sent again by itself. */
  'x-repeatable'?: false;
}

export type PathsOfDocument = Record<string, Record<string, Operation>>;

/** Links open the first two in a browser. The others have methods of their own in client/src/client.ts. */
const BY_HAND = [
  ...['fileContent', 'mcpOauthCallback', 'streamEvents', 'downloadFile', 'sendAnswers'],
  ...['workspaceContent', 'workspaceArchive', 'skillContent', 'memoryContent'],
];
const PAGING = ['limit', 'cursor'];

/** The types of filters, by their names in the client. */
export function filterTypes(paths: PathsOfDocument): Record<string, object> {
  const types: Record<string, object> = {};
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    const filters = filtersOf(operation);
    const properties = filters.map(({ name, description, schema }) => [name, { description, ...schema }]);
    if (filters.length > 0) {
      types[`${itemOf(operation)}Filter`] = { type: 'object', properties: Object.fromEntries(properties) as object };
    }
  }
  return types;
}

export function operationsClass(paths: PathsOfDocument, schemas: Schemas): string {
  const methods = Object.entries(paths).flatMap(([path, byMethod]) =>
    Object.entries(byMethod)
      .filter(([, { operationId }]) => !BY_HAND.includes(operationId))
      .map(([method, operation]) => methodOf(method.toUpperCase(), path, operation, schemas)),
  );
  const types = [...new Set(methods.flatMap((text) => [...text.matchAll(/\bTypes\.(\w+)/g)].map(([, name]) => name)))];
  return `import { eachItem, type ItemList } from '../pages.js';
import { segment, Transport, type ClientOptions, type CreateOptions, type RequestOptions } from '../transport.js';
import type {\n${types.map((name) => `  ${name},\n`).join('')}} from '../types.js';
import { uploadBody, type UploadSource } from '../upload.js';

/** The operations of the Agent Session Service: one method each, in the order of the documentation. */
export class Operations {
  protected readonly transport: Transport;

  constructor(options: ClientOptions | Transport) {
    this.transport = options instanceof Transport ? options : new Transport(options);
  }
${methods.join('').replaceAll('Types.', '')}}
`;
}

function methodOf(method: string, path: string, operation: Operation, schemas: Schemas): string {
  const { operationId, summary, description, parameters } = operation;
  const ids = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => camelCase(name!));
  const address =
    ids.length === 0
      ? `'${path}'`
      : `\`${path.replace(/\{(\w+)\}/g, (_, name: string) => `\${segment(${camelCase(name)})}`)}\``;
  const isCreate = method === 'POST' && parameters.some(({ name }) => name === 'Idempotency-Key');
  const isList = parameters.some(({ name }) => name === 'cursor');
  const body = bodyOf(operation);
  const isUpload = operation.requestBody?.content['multipart/form-data'] !== undefined;
  const filters = filtersOf(operation);
  const query = filters.length > 0 ? `Types.${itemOf(operation)}Query` : 'Types.PageQuery';
  const given = [
    ...ids.map((id) => `${id}: string`),
    ...(isUpload ? ['source: UploadSource'] : []),
    ...(body ? [`body: ${typeOf(body)}${schemas[nameOf(body)]!.required ? '' : ' = {}'}`] : []),
    ...(isList ? [`query: ${query} = {}`] : filters.length > 0 ? [`query: ${valuesOf(filters)}`] : []),
  ];
  const answer = answerOf(operation, schemas);
  const send = answer === 'void' ? 'noContent' : isCreate ? 'create' : 'json';
  const outgoing = [
    ...(isList || filters.length > 0 ? ['query'] : []),
    ...(body ? ['json: body'] : []),
    ...(isUpload ? ['...uploadBody(source)'] : []),
    ...(operation['x-repeatable'] === false ? ['repeatable: false'] : []),
  ];
  const sent = outgoing.length === 0 ? 'options' : `{ ${outgoing.join(', ')}, ...options }`;
  const verb = send === 'create' ? '' : `'${method}', `;
  const options = `options: ${isCreate ? 'CreateOptions' : 'RequestOptions'} = {}`;
  const own = `
  /**
   * ${summary}.
   *
   * ${description.replaceAll(/\n+/g, ' ')}
   */
  ${operationId}(${[...given, options].join(', ')}): Promise<${answer}> {
    return this.transport.${send}(${verb}${address}, ${sent});
  }
`;
  if (!isList || operationId === 'listQueue') return own;
  return `${own}
  /** Every item of \`${operationId}\`, over all its pages. */
  each${itemOf(operation)}(${[...given, options].join(', ')}): ItemList<${answer.replace(/^Types.Page<(.*)>$/, '$1')}> {
    return eachItem(query, (page) => this.${operationId}(${[...ids, 'page', 'options'].join(', ')}));
  }
`;
}

function bodyOf({ requestBody }: Operation): Schema | undefined {
  return requestBody?.content['application/json']?.schema;
}

function filtersOf({ parameters }: Operation): Operation['parameters'] {
  return parameters.filter((one) => one.in === 'query' && !PAGING.includes(one.name));
}

/** The type of the query of an operation that is no list, with a default if nothing in it is required. */
function valuesOf(parameters: Operation['parameters']): string {
  const fields = parameters.map(
    ({ name, required, schema }) => `${name}${required ? '' : '?'}: ${schema.type ?? 'string'}`,
  );
  return `{ ${fields.join('; ')} }${parameters.some(({ required }) => required) ? '' : ' = {}'}`;
}

/** `listWebhookDeliveries` → `WebhookDelivery`. */
function itemOf({ operationId }: Operation): string {
  return operationId.replace(/^list/, '').replace(/ies$/, 'y').replace(/s$/, '');
}

function answerOf({ responses }: Operation, schemas: Schemas): string {
  const [, { content }] = Object.entries(responses).find(([status]) => Number(status) < 400)!;
  const schema = content?.['application/json']?.schema;
  if (schema === undefined) return 'void';
  const { items, meta } = schemas[nameOf(schema)]!.properties ?? {};
  return meta === undefined ? typeOf(schema) : `Types.Page<${typeOf(items!.items!)}>`;
}

function typeOf(schema: Schema): string {
  return `Types.${nameOf(schema)}`;
}

function nameOf({ $ref }: Schema): string {
  return $ref!.split('/').at(-1)!;
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * What an OpenAPI document says to clients, by the way to each field and without texts: a schema that becomes a component, or
 * gets another name, changes nothing.
 */
const BOUNDS = [
  ...(['format', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'minItems', 'maxItems'] as const),
  ...(['uniqueItems', 'minProperties', 'maxProperties', 'default'] as const),
];

/** The facts of each way, such as `createSession body application/json.model_id` → `['type string', 'required']`. */
export type Facts = Record<string, string[]>;

type Value = string | number | boolean | null;

/** The keywords that this service's schemas use. */
export interface Schema extends Partial<Record<(typeof BOUNDS)[number], unknown>> {
  $ref?: string;
  type?: string | string[];
  enum?: Value[];
  const?: Value;
  oneOf?: Schema[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  contentSchema?: Schema;
}

interface Content {
  content?: Record<string, { schema?: Schema }>;
}

interface OpenApiOperation {
  operationId: string;
  parameters: { name: string; in: string; required?: boolean; schema: Schema }[];
  requestBody?: Content;
  responses: Record<string, Content & { description: string; headers?: object }>;
}

export interface OpenApiDocument {
  paths: Record<string, Record<string, OpenApiOperation>>;
  webhooks?: Record<string, { post: { requestBody: Content } }>;
  components: { schemas: Record<string, Schema> };
}

export function flattenOpenApi({ paths, webhooks = {}, components }: OpenApiDocument): Facts {
  const facts = new FactsOf(components.schemas);
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const { operationId: id, parameters, requestBody, responses } = operation;
      facts.set(id, [`${method.toUpperCase()} ${path}`]);
      for (const { name, in: where, required, schema } of parameters) {
        facts.addSchema(`${id} ${where} ${name}`, schema, required);
      }
      facts.addContent(`${id} body`, requestBody);
      for (const [status, response] of Object.entries(responses)) {
        const way = `${id} ${status}`;
        const isError = Number(status) >= 400;
        const errors = isError ? [...response.description.matchAll(/`(\w+)`/g)].map(([, type]) => `error ${type}`) : [];
        facts.set(way, [...Object.keys(response.headers ?? {}).map((name) => `header ${name}`), ...errors]);
        if (!isError) facts.addContent(way, response);
      }
    }
  }
  for (const [name, { post }] of Object.entries(webhooks)) facts.addContent(`webhook ${name}`, post.requestBody);
  return facts.all;
}

/** The facts of a schema without references. */
export function flattenSchema(name: string, schema: Schema): Facts {
  const facts = new FactsOf({});
  facts.addSchema(name, schema);
  return facts.all;
}

class FactsOf {
  readonly all: Facts = {};
  readonly #schemas: Record<string, Schema>;

  constructor(schemas: Record<string, Schema>) {
    this.#schemas = schemas;
  }

  set(way: string, facts: string[]): void {
    this.all[way] = facts;
  }

  addContent(way: string, { content = {} }: Content = {}): void {
    for (const [type, { schema = {} }] of Object.entries(content)) this.addSchema(`${way} ${type}`, schema);
  }

  addSchema(way: string, schema: Schema, isRequired = false): void {
    const own = (this.all[way] ??= []);
    const add = (fact: string): unknown => own.includes(fact) || own.push(fact);
    if (isRequired) add('required');
    if (schema.$ref !== undefined) this.addSchema(way, this.#schemas[schema.$ref.split('/').at(-1)!]!);
    for (const variant of [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])]) this.addSchema(way, variant);
    for (const type of [schema.type ?? []].flat()) add(`type ${type}`);
    for (const value of [...(schema.enum ?? []), ...('const' in schema ? [schema.const] : [])]) {
      // The type says it for null and for texts.
      if (value !== null) add(`value ${value}`);
      if (schema.type === undefined) add(`type ${typeof value}`);
    }
    for (const bound of BOUNDS) if (bound in schema) add(`${bound} ${JSON.stringify(schema[bound])}`);
    if (schema.additionalProperties === false) add('closed');
    if (typeof schema.additionalProperties === 'object') this.addSchema(`${way}.*`, schema.additionalProperties);
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      this.addSchema(`${way}.${name}`, property, schema.required?.includes(name));
    }
    if (schema.items !== undefined) this.addSchema(`${way}[]`, schema.items);
    if (schema.contentSchema !== undefined) this.addSchema(`${way} as JSON`, schema.contentSchema);
  }
}

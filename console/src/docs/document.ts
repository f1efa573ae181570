/** What the reference reads of the OpenAPI document. */
export interface OpenApi {
  info: { title: string; version: string; description?: string };
  servers?: { url: string }[];
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

export interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security?: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { description: string; content?: Record<string, Media> }>;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
}

interface Media {
  schema?: Schema;
  example?: unknown;
}

export interface Schema {
  $ref?: string;
  title?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  default?: unknown;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  additionalProperties?: boolean | Schema;
}

/** An operation with its place in the document. */
export interface PlacedOperation {
  method: string;
  path: string;
  operation: Operation;
}

export function entriesOf({ paths }: OpenApi): PlacedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/** The component that a schema refers to, with the description of the place that refers to it. */
export function resolve(schema: Schema, document: OpenApi): Schema {
  if (schema.$ref === undefined) return schema;
  const found = document.components.schemas[schema.$ref.split('/').at(-1)!]!;
  const { $ref: _, ...here } = schema;
  return resolve({ ...found, ...here }, document);
}

export function typeOf(schema: Schema, document: OpenApi): string {
  const { type, items, enum: values, const: value, oneOf, anyOf, title } = resolve(schema, document);
  if (value !== undefined) return JSON.stringify(value);
  if (values !== undefined) return values.map((each) => JSON.stringify(each)).join(' | ');
  const choices = oneOf ?? anyOf;
  if (choices !== undefined) return title ?? choices.map((choice) => typeOf(choice, document)).join(' | ');
  const types = (Array.isArray(type) ? type : [type ?? 'any']).map((name) => {
    if (name === 'array') return items === undefined ? 'array' : `array of ${typeOf(items, document)}`;
    return name === 'object' && title !== undefined ? title : name;
  });
  return types.join(' | ');
}

/** The limits of a value in words. */
export function limitsOf({
  minLength,
  maxLength,
  minimum,
  maximum,
  minItems,
  maxItems,
  format,
  default: initial,
}: Schema): string {
  const range = (low: number | undefined, high: number | undefined, unit: string): string[] => {
    if (low === undefined && high === undefined) return [];
    if (high === undefined) return low === 0 ? [] : [`at least ${low}${unit}`];
    return [low === undefined ? `at most ${high}${unit}` : `${low} to ${high}${unit}`];
  };
  return [
    ...(format === undefined || format === 'int64' ? [] : [format]),
    ...range(minLength, maxLength, ' characters'),
    ...range(minimum, maximum, ''),
    ...range(minItems, maxItems, ' items'),
    ...(initial === undefined ? [] : [`default ${JSON.stringify(initial)}`]),
  ].join(', ');
}

/** The schema whose fields a value has: that of an object, or of the items of an array. */
export function inner(schema: Schema, document: OpenApi): Schema | null {
  const found = resolve(schema, document);
  if (found.properties !== undefined || found.oneOf !== undefined || found.anyOf !== undefined) return found;
  if (found.items !== undefined) return inner(found.items, document);
  return null;
}

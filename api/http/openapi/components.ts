import { SHOWN } from '../../../src/platform/object-schema.js';
import type { JsonSchema } from '../core/operation.js';

/** Keywords whose values are data, not schemas. */
const DATA = new Set(['const', 'default', 'enum', 'example', 'examples']);
const PATH = '#/components/schemas/';

/**
 * Makes the components of the OpenAPI document: each schema with an `$id` becomes one, and a reference takes its place.
 * Objects of requests are closed. Those of responses are open, because new fields may appear in them; if a schema is used in
 * both and has a closed object, its form in requests is the component `<name>Input`. Give it all responses before the
 * first request.
 */
export class Components {
  readonly schemas: Record<string, JsonSchema> = {};
  private readonly responses = new Map<string, string>();
  /** What became of each schema, in responses and in requests: most stand at many places. */
  private readonly made = { responses: new Map<object, unknown>(), requests: new Map<object, unknown>() };

  /** @param isClosed leaves the objects of responses closed: for tests, which look for fields without a schema */
  constructor(private readonly isClosed = false) {}

  ofResponse(schema: unknown): JsonSchema {
    return this.hoist(schema, false) as JsonSchema;
  }

  ofRequest(schema: unknown): JsonSchema {
    return this.hoist(schema, true) as JsonSchema;
  }

  private hoist(value: unknown, isRequest: boolean): unknown {
    if (Array.isArray(value)) return value.map((item) => this.hoist(item, isRequest));
    if (typeof value !== 'object' || value === null) return value;
    const made = isRequest ? this.made.requests : this.made.responses;
    if (!made.has(value)) made.set(value, this.make(value, isRequest));
    return made.get(value);
  }

  private make(value: object, isRequest: boolean): unknown {
    if (SHOWN in value) return this.shown(value as JsonSchema & { [SHOWN]: JsonSchema }, isRequest);
    const { $id, ...own } = value as JsonSchema;
    const schema = Object.fromEntries(
      Object.entries(own).map(([key, child]) => {
        if (DATA.has(key)) return [key, child];
        if (key === 'properties') return [key, this.properties(child as Record<string, JsonSchema>, isRequest)];
        return [key, this.hoist(child, isRequest)];
      }),
    );
    if (!isRequest && !this.isClosed && schema.additionalProperties === false) delete schema.additionalProperties;
    if (schema.oneOf !== undefined) addMapping(schema, value as JsonSchema);
    return typeof $id === 'string' ? this.refer($id, schema, isRequest) : schema;
  }

  private properties(properties: Record<string, JsonSchema>, isRequest: boolean): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => {
        if (!('const' in schema)) return [name, this.described(this.hoist(schema, isRequest) as JsonSchema)];
        const { const: value } = schema;
        return [name, { type: typeof value, description: `Always \`${String(value)}\`.`, ...schema }];
      }),
    );
  }

  /** A property that is a component has its description, too: generators show that of the property. */
  private described(property: JsonSchema): JsonSchema {
    if (typeof property.$ref !== 'string' || property.description !== undefined) return property;
    return { ...property, description: this.schemas[property.$ref.slice(PATH.length)]!.description };
  }

  /** The component of a schema that has a description of its own at this place, or may be null here. */
  private shown(value: JsonSchema & { [SHOWN]: JsonSchema }, isRequest: boolean): JsonSchema {
    const component = this.hoist(value[SHOWN], isRequest) as JsonSchema;
    const isNullable = Array.isArray(value.type) && value.type.includes('null') && component.$ref !== undefined;
    return {
      ...(isNullable ? { anyOf: [component, { type: 'null' }] } : component),
      ...(value.description !== undefined && { description: value.description }),
      ...('default' in value && { default: value.default }),
    };
  }

  private refer(id: string, schema: JsonSchema, isRequest: boolean): JsonSchema {
    const text = JSON.stringify(schema);
    if (!isRequest) this.responses.set(id, text);
    const inResponses = this.responses.get(id);
    const name = isRequest && inResponses !== undefined && inResponses !== text ? `${id}Input` : id;
    const component = { title: name, ...schema };
    const { [name]: before = component } = this.schemas;
    if (JSON.stringify(before) !== JSON.stringify(component)) throw new Error(`two schemas are named ${name}`);
    this.schemas[name] = component;
    return { $ref: PATH + name };
  }
}

/** Names the component of each value of the property by which the variants differ. */
function addMapping(schema: JsonSchema, original: JsonSchema): void {
  const { propertyName } = schema.discriminator as { propertyName: string };
  const references = schema.oneOf as { $ref: string }[];
  const mapping = (original.oneOf as JsonSchema[]).flatMap((variant, index) =>
    tagsOf(variant, propertyName).map((tag) => [tag, references[index]!.$ref]),
  );
  schema.discriminator = { propertyName, mapping: Object.fromEntries(mapping) as object };
}

function tagsOf(variant: JsonSchema, propertyName: string): string[] {
  const tag = (variant.properties as Record<string, { const?: string; enum?: string[] }> | undefined)?.[propertyName];
  if (tag !== undefined) return tag.enum ?? [tag.const!];
  return [...new Set((variant.oneOf as JsonSchema[]).flatMap((inner) => tagsOf(inner, propertyName)))];
}

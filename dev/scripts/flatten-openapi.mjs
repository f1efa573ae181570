/**
 * What an OpenAPI document says to clients, by the way to each field and without texts: a schema that becomes a component, or
 * gets another name, changes nothing.
 */
const BOUNDS = [
  ...['format', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'minItems', 'maxItems', 'uniqueItems'],
  ...['minProperties', 'maxProperties', 'default'],
];

/** @returns the facts of each way, such as `createSession body application/json.model_id` → `['type string', 'required']` */
export function flattenOpenApi({ paths, webhooks = {}, components }) {
  const facts = {};
  const schemas = components.schemas;
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const { operationId: id, parameters, requestBody, responses } = operation;
      facts[id] = [`${method.toUpperCase()} ${path}`];
      for (const { name, in: where, required, schema } of parameters) {
        addSchema(facts, schemas, `${id} ${where} ${name}`, schema, required === true);
      }
      addContent(facts, schemas, `${id} body`, requestBody);
      for (const [status, response] of Object.entries(responses)) {
        const way = `${id} ${status}`;
        facts[way] = Object.keys(response.headers ?? {}).map((name) => `header ${name}`);
        if (Number(status) < 400) addContent(facts, schemas, way, response);
        else facts[way].push(...[...response.description.matchAll(/`(\w+)`/g)].map(([, type]) => `error ${type}`));
      }
    }
  }
  for (const [name, { post }] of Object.entries(webhooks)) {
    addContent(facts, schemas, `webhook ${name}`, post.requestBody);
  }
  return facts;
}

/** The facts of a schema without references. */
export function flattenSchema(name, schema) {
  const facts = {};
  addSchema(facts, {}, name, schema, false);
  return facts;
}

function addContent(facts, schemas, way, { content = {} } = {}) {
  for (const [type, { schema }] of Object.entries(content)) {
    addSchema(facts, schemas, `${way} ${type}`, schema ?? {}, false);
  }
}

function addSchema(facts, schemas, way, schema, isRequired) {
  const own = (facts[way] ??= []);
  const add = (fact) => own.includes(fact) || own.push(fact);
  const addPart = (end, part, required = false) => addSchema(facts, schemas, way + end, part, required);
  if (isRequired) add('required');
  if (schema.$ref !== undefined) addPart('', schemas[schema.$ref.split('/').at(-1)]);
  for (const variant of [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])]) addPart('', variant);
  for (const type of [schema.type ?? []].flat()) add(`type ${type}`);
  for (const value of [...(schema.enum ?? []), ...('const' in schema ? [schema.const] : [])]) {
    // The type says it for null and for texts.
    if (value !== null) add(`value ${value}`);
    if (schema.type === undefined) add(`type ${typeof value}`);
  }
  for (const bound of BOUNDS) if (bound in schema) add(`${bound} ${JSON.stringify(schema[bound])}`);
  if (schema.additionalProperties === false) add('closed');
  if (typeof schema.additionalProperties === 'object') addPart('.*', schema.additionalProperties);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    addPart(`.${name}`, property, schema.required?.includes(name));
  }
  if (schema.items !== undefined) addPart('[]', schema.items);
  if (schema.contentSchema !== undefined) addPart(' as JSON', schema.contentSchema);
}

import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from 'chai';
import { readFile } from 'node:fs/promises';
import { Components } from '../../../api/http/openapi/components.js';
import { openApiDocument } from '../../../api/http/openapi/openapi.js';
import { routes } from '../../../api/routes.js';
import { createSession } from '../../../api/sessions/create.js';
import { formatDocument, STORED_DOCUMENT } from '../../../dev/scripts/openapi-document.js';
import { orNull, shownAs } from '../../../src/platform/object-schema.js';
import { newSessionBody } from '../../../src/agents/new-session.js';
import { SHOWN } from '../../../src/platform/object-schema.js';

// oxlint-disable-next-line typescript/no-explicit-any -- a schema has many forms
type Schema = Record<string, any>;
type Media = Record<string, { schema?: Schema; example?: unknown }>;

interface Operation {
  operationId: string;
  description: string;
  security: object[];
  parameters: { name: string; description?: string; schema: Schema }[];
  requestBody?: { content: Media };
  responses: Record<string, { description: string; headers: object; content?: Media }>;
}

const document = openApiDocument(routes) as unknown as {
  paths: Record<string, Record<string, Operation>>;
  webhooks: { event: { post: Pick<Operation, 'description' | 'requestBody'> } };
  components: { schemas: Record<string, Schema>; headers: Record<string, { description: string }> };
};
const { schemas } = document.components;
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
const PATH = '#/components/schemas/';
/** Keywords whose values are data, and the names of properties, are no schemas. Generators ignore the last one. */
const DATA = new Set([
  'const',
  'default',
  'enum',
  'example',
  'examples',
  'discriminator',
  'required',
  'x-details-by-type',
]);

/** Every schema in a value, with the way to it. */
function* schemasIn(value: unknown, way: string): Generator<[way: string, schema: Schema]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [way, value];
  for (const [key, child] of Object.entries(value)) {
    if (key !== 'properties') {
      if (!DATA.has(key)) yield* schemasIn(child, `${way}/${key}`);
      continue;
    }
    for (const [name, property] of Object.entries(child as object)) yield* schemasIn(property, `${way}/${name}`);
  }
}

/** The names of the components that a value reaches. */
function reachedBy(value: unknown, names = new Set<string>()): Set<string> {
  for (const [, { $ref }] of schemasIn(value, '')) {
    if (typeof $ref !== 'string' || !$ref.startsWith(PATH)) continue;
    const name = $ref.slice(PATH.length);
    if (names.has(name)) continue;
    names.add(name);
    reachedBy(schemas[name], names);
  }
  return names;
}

const all = [...schemasIn(schemas, '')];
const requests = operations.flatMap(({ requestBody }) => (requestBody === undefined ? [] : [requestBody]));

/** JSON Schemas of clients: any keyword is allowed beside `type`. */
const FREE_SCHEMAS = ['CustomToolInputSchema', 'OutputSchema'];

describe('the OpenAPI document', () => {
  it('the OpenAPI document is stored in api/openapi.json as the routes give it; if this fails: npm run client:generate', async () => {
    expect(await readFile(STORED_DOCUMENT, 'utf8')).to.equal(formatDocument());
  });

  it('the OpenAPI document says of each operation what it does, beside the permission', () => {
    for (const { operationId, description, security } of operations) {
      const [text, needed] = description.split('\n\n');
      expect(text!.length, operationId).to.be.greaterThan(30);
      expect(needed, operationId).to.match(security.length === 0 ? /^Needs no key/ : /^Needs the permission `\w+:\w+`/);
    }
  });

  it('the OpenAPI document describes each component, property, parameter and header', () => {
    const described = [
      ...Object.entries(schemas),
      ...all.flatMap(([way, { properties = {} }]) =>
        Object.entries(properties as object).map(([name, schema]) => [`${way}/${name}`, schema] as const),
      ),
      ...operations.flatMap(({ operationId, parameters }) =>
        parameters.map((one) => [`${operationId} ${one.name}`, one] as const),
      ),
      ...Object.entries(document.components.headers),
    ];
    // The schema of any JSON Schema has one property, which is a rule.
    const missing = described.filter(([, { description }]) => !(description?.length > 5)).map(([way]) => way);
    expect(missing).to.deep.equal(FREE_SCHEMAS.map((name) => `/${name}/type`).filter((one) => missing.includes(one)));
  });

  it('the OpenAPI document has an example of each JSON body and response, which its schema allows', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true, inlineRefs: false, code: { optimize: false } });
    formats.default(ajv);
    ajv.addSchema(document, 'openapi');
    const check = (name: string, content: Media | undefined): void => {
      for (const [type, { schema, example }] of Object.entries(content ?? {})) {
        expect(example, `${name}, ${type}`).to.not.equal(undefined);
        if (schema === undefined || !type.endsWith('json')) continue;
        const validate = ajv.compile({ $ref: `openapi${schema.$ref as string}` });
        expect(validate(example), `${name}: ${ajv.errorsText(validate.errors)}`).to.equal(true);
      }
    };
    for (const { operationId, requestBody, responses } of operations) {
      check(operationId, requestBody?.content);
      const successes = Object.entries(responses).filter(([status]) => Number(status) < 400);
      for (const [status, { content }] of successes) check(`${operationId} ${status}`, content);
    }
    check('webhook', document.webhooks.event.post.requestBody!.content);
  });

  it('the OpenAPI document names each object with properties, each list of values and each choice, once', () => {
    const inline = [...all, ...schemasIn(document.paths, '')]
      .filter(([, { properties, enum: values, oneOf }]) => (properties ?? values ?? oneOf) !== undefined)
      .filter(([way]) => way.split('/').length > 2);
    expect(inline.map(([way]) => way)).to.deep.equal([]);
    for (const [name, { title }] of Object.entries(schemas)) expect(title).to.equal(name);
    const twice = Object.values(schemas).map(({ title: _, ...schema }) => JSON.stringify(schema));
    expect(twice.filter((text, index) => twice.indexOf(text) !== index)).to.deep.equal([]);
  });

  it('the OpenAPI document says for each value of a discriminator which component it means', () => {
    for (const [way, { oneOf, discriminator }] of all.filter(([, schema]) => schema.oneOf !== undefined)) {
      const references = oneOf.map(({ $ref }: Schema) => $ref as string);
      expect(new Set(Object.values(discriminator.mapping)), way).to.deep.equal(new Set(references));
      for (const [tag, $ref] of Object.entries(discriminator.mapping as Record<string, string>)) {
        expect(tagsOf($ref.slice(PATH.length), discriminator.propertyName), `${way} ${tag}`).to.include(tag);
      }
    }
  });

  /** The values of the property in a component, or in each of its variants. */
  function tagsOf(name: string, property: string): string[] {
    const { properties, oneOf } = schemas[name]!;
    if (oneOf !== undefined) return oneOf.flatMap(({ $ref }: Schema) => tagsOf($ref.slice(PATH.length), property));
    const { const: value, enum: values, $ref } = properties[property];
    return value === undefined ? (values ?? schemas[$ref.slice(PATH.length)]!.enum) : [value];
  }

  it('the OpenAPI document has a choice without a discriminator only for null and for the forms of a skill, an agent and a version', () => {
    const choices = all.filter(([, { anyOf }]) => anyOf !== undefined && anyOf.at(-1).type !== 'null');
    expect(choices.map(([way]) => way.replace(/Input$/, ''))).to.have.members([
      ...['/SkillSelection', '/SkillSelection', '/AgentSkill', '/AgentSkill', '/AgentChoice', '/AgentChoice'],
      ...['/AgentVersionChoice', '/AgentToolVersion'],
    ]);
  });

  it('the OpenAPI document closes the objects of requests, and leaves those of responses open', () => {
    const answers = [document.webhooks, ...operations.map(({ responses }) => responses)];
    const closed = (schema: Schema): boolean => schema.additionalProperties === false;
    for (const name of reachedBy(requests)) {
      const schema = schemas[name]!;
      if (schema.properties === undefined || FREE_SCHEMAS.includes(name)) continue;
      expect(closed(schema), `${name} of a request`).to.equal(true);
    }
    for (const name of reachedBy(answers)) expect(closed(schemas[name]!), `${name} of a response`).to.equal(false);
  });

  it('the OpenAPI document has one schema for both media types of PATCH, and one for all errors', () => {
    for (const { operationId, requestBody, responses } of operations) {
      const bodies = Object.values(requestBody?.content ?? {}).map(({ schema }) => schema!.$ref as string);
      expect(new Set(bodies).size, operationId).to.equal(requestBody === undefined ? 0 : 1);
      for (const { content } of Object.values(responses)) {
        const schema = content?.['application/json']?.schema;
        if (schema !== undefined) expect(schema, operationId).to.have.all.keys('$ref');
      }
      expect(responses['500']!.content!['application/json']!.schema).to.deep.equal({ $ref: `${PATH}ErrorResponse` });
    }
  });

  it('the OpenAPI document gives each integer a format or bounds, and each time the format date-time', () => {
    for (const [way, { type, format, maximum }] of all) {
      if ([type].flat().some((one) => one === 'integer' || one === 'number') && maximum === undefined) {
        expect(format, way).to.be.oneOf(['int32', 'int64', 'double']);
      }
      if (/_at$/.test(way) && type !== 'array') expect(format, way).to.equal('date-time');
    }
  });

  it('the OpenAPI document keeps what a schema is at one place: its description, its default, and that it may be null', () => {
    const components = new Components();
    const thing = { $id: 'Thing', type: 'string', description: 'A thing.' };
    const here = { ...orNull(thing, 'The thing here.'), default: null };
    expect(components.ofResponse({ properties: { here, there: thing } }).properties).to.deep.equal({
      here: { anyOf: [{ $ref: `${PATH}Thing` }, { type: 'null' }], description: 'The thing here.', default: null },
      there: { $ref: `${PATH}Thing`, description: 'A thing.' },
    });
    const shown = { ...shownAs({ type: 'string' }, { type: 'string', format: 'date-time' }), default: 'now' };
    expect(components.ofRequest(shown)).to.deep.equal({ type: 'string', format: 'date-time', default: 'now' });
  });

  it('the OpenAPI document refuses two different schemas of one name', () => {
    const components = new Components();
    components.ofResponse({ $id: 'Thing', type: 'string' });
    expect(() => components.ofResponse({ $id: 'Thing', type: 'boolean' })).to.throw('two schemas are named Thing');
  });

  it('the OpenAPI document shows as the answer to its example of a new session the session that this request makes', () => {
    const { body, success } = createSession as unknown as {
      body: { properties: Record<string, { default?: unknown; [SHOWN]?: { default?: unknown } }> };
      success: { example?: unknown };
    };
    const request = newSessionBody.examples[0] as Record<string, unknown>;
    const answer = success.example as Record<string, unknown>;
    for (const [name, field] of Object.entries(body.properties)) {
      expect(answer[name], name).to.deep.equal(
        name in request ? request[name] : (field.default ?? field[SHOWN]?.default ?? null),
      );
    }
  });
});

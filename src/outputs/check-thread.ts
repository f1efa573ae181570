import { parentPort } from 'node:worker_threads';
import { dereference, validate, type Schema } from '@cfworker/json-schema';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonObject } from '../platform/json-object.js';
import { describeErrors } from './describe-errors.js';
import { draftOf, prepareSchema, type Draft } from './prepare-schema.js';

/** JSON texts. Without a value, the schema itself is checked. */
export interface SchemaCheck {
  schema: string;
  value?: string;
}

/** What is wrong, one line each; null when this thread has started. */
export type CheckReport = string[] | null;

const OPTIONS = { strict: false, validateFormats: false, logger: false } as const;
const META = { '2020-12': new Ajv2020(OPTIONS), '7': new Ajv(OPTIONS) };

const port = parentPort!;
// The first check of a thread compiles the meta-schemas, and is slow: it must not count as that of a project.
for (const $schema of ['https://json-schema.org/draft/2020-12/schema', 'http://json-schema.org/draft-07/schema#']) {
  checkSchema({ $schema, type: 'object', properties: { warm: { type: 'string' } } });
}
port.on('message', (check: SchemaCheck) => port.postMessage(run(check) satisfies CheckReport));
port.postMessage(null satisfies CheckReport);

function run({ schema: text, value }: SchemaCheck): string[] {
  const schema = JSON.parse(text) as JsonObject;
  return value === undefined ? checkSchema(schema) : checkValue(schema, JSON.parse(value));
}

function checkValue(schema: JsonObject, value: unknown): string[] {
  const draft = draftOf(schema)!;
  const prepared = prepareSchema(schema, draft) as Schema;
  try {
    const { valid, errors } = validate(value, prepared, draft, dereference(prepared), false);
    return valid ? [] : describeErrors(errors);
  } catch (error) {
    return [`(the whole value): cannot be checked: ${reasonOf(error)}`];
  }
}

function checkSchema(schema: JsonObject): string[] {
  const draft = draftOf(schema);
  if (draft === null) {
    return [
      '`$schema` must be https://json-schema.org/draft/2020-12/schema or http://json-schema.org/draft-07/schema#',
    ];
  }
  const problem = metaProblem(schema, draft);
  if (problem !== null) return [problem];
  try {
    const prepared = prepareSchema(schema, draft) as Schema;
    const parts = dereference(prepared);
    const dangling = findDanglingRef(parts);
    if (dangling !== null) return [`\`$ref\` must lead to a part of the schema, but ${dangling} does not`];
    // References that lead in a circle are found with any value.
    validate({}, prepared, draft, parts, false);
    return [];
  } catch (error) {
    return [reasonOf(error)];
  }
}

function metaProblem({ $schema: _draft, ...schema }: JsonObject, draft: Draft): string | null {
  const meta = META[draft];
  return meta.validateSchema(schema) === true ? null : meta.errorsText(meta.errors?.slice(0, 1), { dataVar: '' });
}

/** `dereference` notes the address to which a `$ref` leads in its schema. */
function findDanglingRef(parts: Record<string, Schema | boolean>): string | null {
  for (const part of Object.values(parts)) {
    if (typeof part !== 'object' || part.$ref === undefined) continue;
    if (parts[part.__absolute_ref__ as string] === undefined) return JSON.stringify(part.$ref);
  }
  return null;
}

function reasonOf(error: unknown): string {
  return error instanceof RangeError ? 'it refers to itself without an end' : (error as Error).message;
}

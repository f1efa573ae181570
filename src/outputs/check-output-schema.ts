import { validationError } from '../platform/errors.js';
import type { JsonObject } from '../platform/json-object.js';
import { hasMoreValuesThan } from '../platform/value-count.js';
import type { SchemaChecks } from './schema-checks.js';

const MAX_SCHEMA_BYTES = 32 * 1024;
/** docs/decisions.md "Limits of work". */
const MAX_SCHEMA_VALUES = 4_000;
const PATH = '/output_schema';

/** @throws ServiceError `validation_error` for a schema that is too large, or by which no value can be checked */
export async function checkOutputSchema(checks: SchemaChecks, projectId: string, schema: JsonObject): Promise<void> {
  if (hasMoreValuesThan(MAX_SCHEMA_VALUES, schema)) {
    throw validationError(PATH, `must have at most ${MAX_SCHEMA_VALUES} JSON values`);
  }
  const text = JSON.stringify(schema);
  if (Buffer.byteLength(text) > MAX_SCHEMA_BYTES)
    throw validationError(PATH, 'must have at most 32 KiB as compact JSON');
  const problem = await checks.checkSchema(projectId, text);
  if (problem !== null) throw validationError(PATH, `must be a JSON Schema that refers to itself only: ${problem}`);
}

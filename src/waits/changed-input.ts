import { isDeepStrictEqual } from 'node:util';
import type { Db, Tx } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import type { AskedTool } from '../mcp/asked-tool.js';
import { findToolset } from '../mcp/toolsets.js';
import type { SchemaChecks } from '../outputs/schema-checks.js';
import { ServiceError, validationError } from '../platform/errors.js';
import { exactText, parseExact } from '../platform/exact-json.js';
import type { AnswerableWait } from './answerable.js';

/** Bytes of an input that a person changes, as compact JSON. */
export const MAX_INPUT_BYTES = 256 * 1024;

/** True if an answer's input is what the model wrote. */
export function isModelInput(input: object, { input: written }: Pick<AnswerableWait, 'input'>): boolean {
  return written !== null && isDeepStrictEqual(input, parseExact(written));
}

export interface ChangedInput {
  wait: AnswerableWait;
  input: object;
  /** The JSON Pointer of the input in its request. */
  path: string;
}

/**
 * Checks an input by the schema of its tool, as the turn has it. By a schema that cannot be compiled any object is right.
 * @throws ServiceError `validation_error`
 */
export async function checkChangedInput(
  { db, schemaChecks }: { db: Db; schemaChecks: SchemaChecks },
  projectId: string,
  { wait, input, path }: ChangedInput,
): Promise<void> {
  const schema = await schemaOf(db, wait);
  if (schema === null) return;
  const text = JSON.stringify(schema);
  if ((await schemaChecks.checkSchema(projectId, text)) !== null) return;
  const problems = await schemaChecks.checkValue(projectId, text, exactText(input));
  // The message is a part of a sentence, and most problems end as one.
  const [first] = problems.map((problem) => problem.replace(/\.$/, ''));
  if (first === undefined) return;
  throw new ServiceError('validation_error', `${path} must fit the input schema of the tool: ${first}.`, {
    errors: problems.map((problem) => ({ path, message: `must fit the input schema of the tool: ${problem}` })),
  });
}

/** Null if it is not known. */
async function schemaOf(db: Db, { turn_id, ask }: AnswerableWait): Promise<object | null> {
  const { input_schema = null, server_id = null, tool_name } = ask as Partial<AskedTool>;
  if (server_id === null) return input_schema;
  const [server] = await runSql<{ toolset_hash: string }>(
    db,
    sql`SELECT toolset_hash FROM turn_servers WHERE turn_id = ${turn_id} AND server_id = ${server_id}`,
  );
  const tools = server && (await findToolset(db, server_id, server.toolset_hash));
  return tools?.find(({ name }) => name === tool_name)?.input_schema ?? null;
}

/** Has a call run with another input than the model wrote. */
export async function changeInput(
  tx: Tx,
  { turn_id, id }: Pick<AnswerableWait, 'turn_id' | 'id'>,
  input: object,
): Promise<void> {
  await runSql(
    tx,
    sql`UPDATE tool_calls c SET changed_input = ${exactText(input)}::json FROM waits w
        WHERE w.turn_id = ${turn_id} AND w.id = ${id} AND c.turn_id = w.turn_id AND c.step = w.step AND c.index = w.index`,
  );
}

/** @throws ServiceError `validation_error` */
export function requireInputSize(input: object, path: string): void {
  if (Buffer.byteLength(exactText(input)) > MAX_INPUT_BYTES)
    throw validationError(path, `must have at most ${MAX_INPUT_BYTES / 1024} KiB as compact JSON`);
}

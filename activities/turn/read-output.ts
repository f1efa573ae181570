import { exactText } from '../../src/platform/exact-json.js';
import type { SchemaChecks } from '../../src/outputs/schema-checks.js';
import type { ModelAnswer } from '../../src/models/content.js';
import { countOutputFailures, isValue, planOutput, type GivenValue, type StepOutput } from '../../src/steps/output.js';
import type { RequestContext } from '../../src/steps/conversation.js';
import type { CallOf } from '../../src/steps/step-calls.js';

/** docs/decisions.md "Output schema". */
const MAX_OUTPUT_BYTES = 256 * 1024;

/** What a turn with `output_schema` needs to read its next answer. */
export interface OutputPlan {
  /** JSON text. */
  schema: string;
  /** Earlier steps of the turn that gave no valid value. */
  failures: number;
}

export function outputPlanOf({ outputSchema, conversation }: RequestContext): OutputPlan | null {
  if (outputSchema === null) return null;
  return { schema: JSON.stringify(outputSchema), failures: countOutputFailures(conversation.turns.at(-1)!.steps) };
}

/** Reads an answer of a turn with `output_schema`; checks its value, if it gives one. Null in other turns. */
export async function readOutput(
  checks: SchemaChecks,
  { projectId, output, callOf }: { projectId: string; output: OutputPlan | null; callOf: CallOf },
  { content, stopReason }: Pick<ModelAnswer, 'content' | 'stopReason'>,
): Promise<StepOutput | null> {
  if (output === null) return null;
  const { schema, failures } = output;
  const calls = content.flatMap((block) => (block.type === 'tool_use' ? [callOf(block)] : []));
  const names = calls.map(({ name }) => name);
  const value = isValue(names) ? await checkValue(checks, projectId, schema, exactText(calls[0]!.input)) : null;
  return planOutput(names, stopReason, value, failures);
}

async function checkValue(checks: SchemaChecks, projectId: string, schema: string, json: string): Promise<GivenValue> {
  const bytes = Buffer.byteLength(json);
  if (bytes > MAX_OUTPUT_BYTES) {
    return {
      json,
      errors: [`(the whole value): has ${bytes} bytes as compact JSON; at most ${MAX_OUTPUT_BYTES} are allowed`],
    };
  }
  return { json, errors: await checks.checkValue(projectId, schema, json) };
}

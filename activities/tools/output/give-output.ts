import { toObjectSchema } from '../../../src/mcp/input-schema.js';
import type { ToolDefinition } from '../../../src/models/request.js';
import type { JsonObject } from '../../../src/platform/json-object.js';
import { GIVE_OUTPUT } from '../../../src/sessions/tools.js';

/** The tool that ends a turn with `output_schema`. It never runs: its call is checked when the model's answer is stored. */
export function giveOutput(outputSchema: JsonObject): ToolDefinition {
  return {
    name: GIVE_OUTPUT,
    description: 'Ends the turn with its result, the input of this call. Call it once, alone, when the work is done.',
    inputSchema: toObjectSchema(outputSchema),
  };
}

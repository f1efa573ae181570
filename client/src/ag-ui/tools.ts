import type { Tool } from '@ag-ui/client';
import type { SessionTool } from '../types.js';

/** Tools of a page as entries for `tools` of POST /v1/sessions: a session's tools are fixed when it is created. */
export function toSessionTools(tools: readonly Tool[]): SessionTool[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'custom',
    name,
    description,
    input_schema: { type: 'object', ...(parameters as object | undefined) },
  }));
}

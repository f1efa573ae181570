import { described, objectSchema, orNull } from '../../src/platform/object-schema.js';
import { anyObject, text } from '../../src/platform/schema-fields.js';
import { presented } from '../http/core/presenter.js';

export const inputSchema = {
  $id: 'McpToolInputSchema',
  description: 'JSON Schema of a tool’s input.',
  ...anyObject,
} as const;

export const toolAnnotations = {
  $id: 'McpToolAnnotations',
  description: 'What the server says about the effects of the tool; absent if it says nothing.',
  type: 'object',
  properties: {
    readOnlyHint: { const: true, description: 'Present if the tool changes nothing.' },
    idempotentHint: { const: true, description: 'Present if repeated calls have no further effect.' },
  },
  additionalProperties: false,
} as const;

const shownTool = {
  $id: 'McpToolVersion',
  description: 'One version of a tool.',
  ...objectSchema(
    {
      description: described(text, 'What it does, in the words of the server.'),
      input_schema: orNull(inputSchema, 'JSON Schema of its input; null if it is too large to show.'),
    },
    {
      annotations: toolAnnotations,
    },
  ),
} as const;

/** A tool of a pinned server that is held back until it is accepted. */
export const { schema: changedToolSchema } = presented(
  'ChangedMcpTool',
  'A new or changed tool that is held back until it is accepted.',
  {
    name: described(text, 'The server’s own name of the tool.'),
    digest: described(text, 'Identifies this version of the tool. Send it when you accept the tool.'),
    before: orNull(shownTool, 'The accepted version; null for a new tool.'),
    after: described(shownTool, 'The version that is held back.'),
  },
  {
    name: 'late_orders',
    digest: '9f86d081884c7d65',
    before: null,
    after: { description: 'Lists the orders that are late.', input_schema: { type: 'object', properties: {} } },
  },
);

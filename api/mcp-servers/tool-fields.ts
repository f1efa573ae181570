import { described, objectSchema, orNull } from '../../src/platform/object-schema.js';
import { flag, text } from '../../src/platform/schema-fields.js';
import { presented } from '../http/core/presenter.js';
import { inputSchema, toolAnnotations } from './changed-tool-fields.js';

const status = {
  $id: 'McpToolStatus',
  type: 'string',
  enum: ['offered', 'not_allowed', 'held_back'],
  description:
    '`offered`: turns offer it. `not_allowed`: it is not in `allowed_tools`. `held_back`: the server is pinned, and somebody has to accept the tool first.',
} as const;

const taskSupport = {
  $id: 'McpTaskSupport',
  type: 'string',
  enum: ['required', 'optional'],
  description: 'How a tool can be called as a task.',
} as const;

/** A tool of an MCP server with its schema, as the service offers it to the model. */
export const serverTool = presented(
  'McpServerTool',
  'A tool of an MCP server with the schema of its input, as the agent gets it.',
  {
    name: described(text, 'The server’s own name of the tool.'),
    description: described(text, 'What it does, in the words of the server, cut to 500 characters.'),
    input_schema: described(
      inputSchema,
      'JSON Schema of its input. What the model’s API would refuse has been repaired.',
    ),
    annotations: orNull(
      toolAnnotations,
      'What the server says about the effects of the tool; null if it says nothing.',
    ),
    task_support: orNull(taskSupport, 'Whether it can be called as a task; `required`: only so. Null: it cannot.'),
    status,
  },
  {
    name: 'late_orders',
    description: 'Lists the orders that are late.',
    input_schema: { type: 'object', properties: { days: { type: 'integer' } }, required: ['days'] },
    annotations: { readOnlyHint: true },
    task_support: null,
    status: 'offered',
  },
);

const content = {
  $id: 'McpToolContent',
  description: 'A part of a tool’s result.',
  discriminator: { propertyName: 'type' },
  oneOf: [
    {
      $id: 'McpToolText',
      description: 'Text, or a line that describes content of another kind.',
      ...objectSchema({ type: { const: 'text' }, text: described(text, 'The text.') }),
    },
    {
      $id: 'McpToolImage',
      description: 'An image.',
      ...objectSchema({
        type: { const: 'image' },
        media_type: described(text, 'Its type: `image/png`, `image/jpeg`, `image/gif` or `image/webp`.'),
        data: described(text, 'Its bytes in base64.'),
      }),
    },
  ],
} as const;

export const toolResult = presented(
  'McpToolResult',
  'What a call of a tool has come to, as the agent would read it.',
  {
    content: { type: 'array', items: content, description: 'The result, or what went wrong. At most 1 MiB in all.' },
    is_error: described(flag, 'True if the tool reports an error, or the call failed.'),
    duration_ms: {
      type: 'integer',
      format: 'int32',
      minimum: 0,
      description: 'How long the call took, with its connection.',
    },
  },
  { content: [{ type: 'text', text: 'Order 4711 is two days late.' }], is_error: false, duration_ms: 84 },
);

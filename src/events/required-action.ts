import type { FromSchema } from 'json-schema-to-ts';
import { described, objectSchema } from '../platform/object-schema.js';
import { anyObject, idField, text, timestamp } from '../platform/schema-fields.js';
import { money } from './fields.js';

/** Of an action of a turn that a call of this one has begun. */
const OF_CHILD = {
  session_id: idField(
    'session',
    'The child session that asks: send the answer there. Absent: the session itself asks.',
  ),
} as const;
const expires_at = described(timestamp, 'When the wait ends without an answer.');
const toolUseId = described(text, 'Id of the call. Send it in the answer.');

const hint = (description: string) => ({ type: ['boolean', 'null'], description }) as const;
const toolAnnotations = {
  $id: 'ToolAnnotations',
  description: 'What a tool may do, as its server says; null where it does not. A server may be wrong.',
  ...objectSchema({
    read_only: hint('The tool changes nothing.'),
    destructive: hint('The tool may delete or overwrite, not only add.'),
    idempotent: hint('A second call with the same input has no further effect.'),
    open_world: hint('The tool reaches beyond its server, such as to the web.'),
  }),
} as const;
const aboutTool = {
  title: {
    type: ['string', 'null'],
    description: 'The name of the tool for people, as its server gives it; null without one.',
  },
  annotations: toolAnnotations,
} as const;

function callAction<
  const Type extends string,
  const More extends object = Record<never, never>,
  const Optional extends object = Record<never, never>,
>(id: string, type: Type, description: string, more?: More, optional?: Optional) {
  return {
    $id: id,
    description,
    ...objectSchema(
      {
        type: { const: type },
        tool_use_id: toolUseId,
        name: described(text, 'The name of the tool, as the model sees it.'),
        input: described(anyObject, 'The input of the call, as the model wrote it.'),
        ...(more as More),
        expires_at,
      },
      { ...(optional as Optional), ...OF_CHILD },
    ),
  } as const;
}

const question = {
  type: { const: 'elicitation' },
  elicitation_id: idField('elicitation', 'Id of the question. Send it in the answer.'),
  tool_use_id: described(text, 'Id of the call during which the server asks.'),
  name: described(text, 'The name of the called tool, as the model sees it.'),
} as const;
const message = described(text, 'What the server asks, for the person who answers.');

const elicitation = {
  $id: 'ElicitationAction',
  description: 'A question that an MCP server asks during a call. Answer with `user.elicitation_result`.',
  type: 'object',
  required: ['type', 'mode'],
  discriminator: { propertyName: 'mode' },
  oneOf: [
    {
      $id: 'ElicitationFormAction',
      description: 'An MCP server asks for values.',
      ...objectSchema(
        {
          ...question,
          mode: { const: 'form' },
          message,
          requested_schema: described(anyObject, 'A flat JSON Schema of the answer’s content.'),
          expires_at,
        },
        OF_CHILD,
      ),
    },
    {
      $id: 'ElicitationUrlAction',
      description: 'An MCP server asks a person to open an address.',
      ...objectSchema(
        {
          ...question,
          mode: { const: 'url' },
          message,
          url: described(text, 'For the person to open. The service never opens it.'),
          expires_at,
        },
        OF_CHILD,
      ),
    },
  ],
} as const;

/**
 * What waits for an answer: a call (decisions.md "Person in the loop"), a model call that does not fit into the session's budget (§10), or a
 * question that an MCP server asks during a call ("Tasks and elicitation").
 */
export const requiredAction = {
  $id: 'RequiredAction',
  description: 'What a turn waits for: a decision, a result, an answer to a question, or a larger budget.',
  type: 'object',
  required: ['type'],
  discriminator: { propertyName: 'type' },
  oneOf: [
    callAction(
      'ToolConfirmationAction',
      'tool_confirmation',
      'A call that a person must allow or deny. Answer with `user.tool_confirmation`, which may change the input.',
      {},
      {
        // Absent in events that were stored before 1.0.0.
        ...aboutTool,
        approvers: {
          type: 'array',
          items: text,
          description: 'The approver groups of which one decides; absent if every key that may approve does.',
        },
      },
    ),
    callAction(
      'CustomToolResultAction',
      'custom_tool_result',
      'A call of a custom tool, which your client runs. Answer with `user.custom_tool_result`.',
    ),
    {
      $id: 'McpAuthorizationAction',
      description:
        'A call that waits until the user of the session has authorized its server. POST …/authorize of the session gives the address; it needs no answer. `user.tool_confirmation` with deny ends the wait.',
      ...objectSchema(
        {
          type: { const: 'mcp_authorization' },
          tool_use_id: toolUseId,
          name: described(text, 'The name of the tool, as the model sees it.'),
          input: described(anyObject, 'The input with which the call runs: a person may have changed it.'),
          mcp_server_id: idField('mcpServer', 'Id of the server to authorize.'),
          expires_at,
        },
        OF_CHILD,
      ),
    },
    {
      $id: 'BudgetAction',
      description:
        'A model call that does not fit into the session’s budget. PATCH the session with a larger one; if `session_id` is there, its parent.',
      ...objectSchema(
        {
          type: { const: 'budget' },
          spent: described(money, 'What the session and its children have spent.'),
          max_cost: described(money, 'The budget that is too small.'),
          expires_at,
        },
        OF_CHILD,
      ),
    },
    elicitation,
  ],
} as const;

export type RequiredAction = FromSchema<typeof requiredAction>;

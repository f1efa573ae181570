import { objectSchema, shownAs } from '../../src/platform/object-schema.js';
import { approversField } from '../../src/sessions/tool-fields.js';
import { MAX_TOOLS } from '../../src/mcp/tools.js';
import type { JsonSchema } from '../http/core/operation.js';

/** Lowercase letters, digits and single hyphens between them. */
export const nameField = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  description: 'Its name, unique in the project. The names of its tools begin with it: `mcp__NAME__TOOL`.',
} as const satisfies JsonSchema;

export const secretFields = {
  token: { type: 'string', description: 'Sent as `Authorization: Bearer TOKEN`.' },
  name: { type: 'string', description: 'Name of the header.' },
  value: { type: 'string', description: 'Value of the header.' },
} as const;

const oauthFields = {
  client_id: {
    type: 'string',
    minLength: 1,
    maxLength: 2048,
    pattern: '^[\\x20-\\x7e]+$',
    description: 'A client registered at the authorization server; without it the service registers one.',
  },
  client_secret: {
    type: 'string',
    minLength: 1,
    maxLength: 8192,
    pattern: '^[\\x20-\\x7e]+$',
    description: 'The secret of `client_id`, if it has one.',
  },
  scopes: {
    type: 'array',
    items: {
      $id: 'OAuthScope',
      type: 'string',
      minLength: 1,
      maxLength: 256,
      pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$',
      description: 'A scope of the authorization server.',
    },
    maxItems: 100,
    uniqueItems: true,
    description: 'Scopes to request; without it, those in the metadata of the resource.',
  },
} as const;
const { token, name, value } = secretFields;

export const authTypeField = {
  $id: 'McpAuthType',
  type: 'string',
  enum: ['NONE', 'BEARER', 'HEADER', 'OAUTH'],
  description: 'How the service proves to the MCP server who it is.',
} as const;

/** src/mcp/auth checks which fields a type takes and which values a header can carry. Without a type it is NONE. */
export const authField = shownAs(
  {
    type: 'object',
    properties: { type: { ...authTypeField, default: 'NONE' }, ...secretFields, ...oauthFields },
    additionalProperties: false,
  },
  {
    $id: 'NewMcpAuth',
    description: 'How the service proves to the MCP server who it is. Credentials are never shown again.',
    type: 'object',
    required: ['type'],
    discriminator: { propertyName: 'type' },
    oneOf: [
      { $id: 'NoMcpAuth', description: 'No credential.', ...objectSchema({ type: { const: 'NONE' } }) },
      { $id: 'BearerMcpAuth', description: 'A token.', ...objectSchema({ type: { const: 'BEARER' }, token }) },
      {
        $id: 'HeaderMcpAuth',
        description: 'A header of its own, such as `X-Api-Key`.',
        ...objectSchema({ type: { const: 'HEADER' }, name, value }),
      },
      {
        $id: 'OAuthMcpAuth',
        description: 'A person authorizes the service in a browser.',
        ...objectSchema({ type: { const: 'OAUTH' } }, oauthFields),
      },
    ],
  },
) satisfies JsonSchema;

export const allowedToolsField = {
  type: ['array', 'null'],
  items: { type: 'string' },
  minItems: 1,
  maxItems: MAX_TOOLS,
  uniqueItems: true,
  description: 'Names of the server’s tools that the agent may call; null: all of them.',
} as const satisfies JsonSchema;

export const credentialsField = {
  $id: 'McpCredentials',
  type: 'string',
  enum: ['shared', 'user'],
  description:
    '`shared`: turns use the server’s own credential. `user`: turns use that of the session’s `user` (POST /v1/credentials); the server’s own serves registration and probes.',
} as const satisfies JsonSchema;

export const requiredApprovalsField = {
  type: 'array',
  maxItems: 50,
  items: {
    $id: 'RequiredApproval',
    description: 'Calls of a tool that a person must allow in every session.',
    ...objectSchema(
      {},
      {
        name: {
          type: 'string',
          minLength: 1,
          maxLength: 128,
          description: 'The server’s own name of the tool; without it, each tool that no other entry names.',
        },
        approvers: {
          ...approversField,
          description:
            'A key of one of these approver groups decides, whatever the session says. Without it, who the session says.',
        },
      },
    ),
  },
  description:
    'The tools whose calls a person must allow in every session, whatever its `tools` say. A change holds from the next turn.',
} as const satisfies JsonSchema;

export const pinToolsField = {
  type: 'boolean',
  description: 'If true, new and changed tools are held back until POST …/accept-tools accepts them.',
} as const satisfies JsonSchema;

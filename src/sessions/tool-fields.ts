import { MAX_TOOLS } from '../mcp/tools.js';
import { MEMORY_KINDS } from '../memories/owner.js';
import { described, objectSchema } from '../platform/object-schema.js';
import { groupName } from '../projects/approver-groups.js';
import { MAX_AGENTS, WORKSPACE_TOOL_NAMES } from './tools.js';

export const MAX_CUSTOM_TOOLS = 64;
const MAX_TOOLSETS = 10;
const MAX_DESCRIPTION_LENGTH = 10_000;

/** Approver groups of which one decides. */
export const approversField = {
  type: 'array',
  minItems: 1,
  maxItems: 5,
  uniqueItems: true,
  items: groupName,
  description:
    'Only with always_ask: a key of one of these approver groups decides. Without it, every key that may approve.',
} as const;

const permissionPolicy = {
  $id: 'PermissionPolicy',
  description: 'Whether a person must allow the calls of a tool.',
  ...objectSchema(
    {
      type: {
        $id: 'PermissionPolicyType',
        type: 'string',
        enum: ['always_allow', 'always_ask'],
        description: '`always_allow`: the calls run. `always_ask`: each call waits until a person allows it.',
      },
    },
    { approvers: approversField },
  ),
} as const;

const configOf = <const Name extends object>(id: string, description: string, name: Name) =>
  ({ $id: id, description, ...objectSchema({ ...name, permission_policy: permissionPolicy }) }) as const;

/** An entry of a session's `tools` (decisions.md "Person in the loop"). */
const sessionToolSchema = {
  $id: 'SessionTool',
  description:
    'The permissions and questions of an MCP server’s tools, a workspace for the agent, a memory, a tool with which it waits, another agent that it may call, or a tool that your client runs.',
  type: 'object',
  required: ['type'],
  discriminator: { propertyName: 'type' },
  oneOf: [
    {
      $id: 'McpToolset',
      description: 'How the tools of one of the session’s MCP servers may be used.',
      type: 'object',
      properties: {
        type: { const: 'mcp_toolset' },
        mcp_server_id: { type: 'string', description: 'One of the session’s mcp_servers.' },
        default_config: configOf('McpDefaultConfig', 'For the tools that `configs` does not name.', {}),
        configs: {
          type: 'array',
          maxItems: MAX_TOOLS,
          description: 'Single tools that differ from `default_config`.',
          items: configOf('McpToolConfig', 'The permission of one tool.', {
            name: described({ type: 'string' }, 'The server’s own name of the tool.'),
          }),
        },
        elicitation: {
          type: 'boolean',
          description: 'The server may ask questions while a call runs; default false.',
        },
        defer: {
          $id: 'ToolDeferral',
          type: 'string',
          enum: ['auto', 'always', 'never'],
          description:
            'Whether the agent has to find the tools of this server by search before it sees their definitions. `auto`, the default: if the tools of the session’s servers are too large together. `always`: in any case. `never`: it always sees them.',
        },
      },
      required: ['type', 'mcp_server_id'],
      additionalProperties: false,
    },
    {
      $id: 'WorkspaceToolset',
      description:
        'Gives the session a workspace: files of its own, in which the agent runs commands. It is chosen at creation.',
      type: 'object',
      properties: {
        type: { const: 'workspace' },
        default_config: configOf(
          'WorkspaceDefaultConfig',
          'For those of the four tools that `configs` does not name.',
          {},
        ),
        configs: {
          type: 'array',
          maxItems: WORKSPACE_TOOL_NAMES.length,
          description: 'Single tools that differ from `default_config`.',
          items: configOf('WorkspaceToolConfig', 'The permission of one tool.', {
            name: described({ type: 'string' }, 'One of `bash`, `read`, `write` and `edit`.'),
          }),
        },
      },
      required: ['type'],
      additionalProperties: false,
    },
    {
      $id: 'MemoryTool',
      description:
        'Gives the agent a memory: files that are kept between sessions, which it reads and writes with the tool `memory`.',
      type: 'object',
      properties: {
        type: { const: 'memory' },
        of: {
          $id: 'MemoryKind',
          type: 'string',
          enum: MEMORY_KINDS,
          description:
            'Whose memory it is. `user`: of the session’s user, with whatever agent. `agent`: of its agent, with whatever user. `agent_user`: of its user with its agent. `project`: of the project. A session has each at most once, and needs what it is of.',
        },
        access: {
          $id: 'MemoryAccess',
          type: 'string',
          enum: ['read_write', 'read_only'],
          description:
            'Whether the agent may write it. Default: `read_write` for `user` and `agent_user`, `read_only` for `agent` and `project`, which one user would write for all.',
        },
        permission_policy: permissionPolicy,
      },
      required: ['type', 'of'],
      additionalProperties: false,
    },
    {
      $id: 'WaitTool',
      description: 'Gives the agent the tool `wait`: it goes on after a time.',
      type: 'object',
      properties: { type: { const: 'wait' } },
      required: ['type'],
      additionalProperties: false,
    },
    {
      $id: 'AgentTool',
      description:
        'Another agent to which this one may give tasks. It works in a child session, and its answer is the result of the call.',
      type: 'object',
      properties: {
        type: { const: 'agent' },
        agent_id: { type: 'string', description: 'Id of the agent. Each agent may have one entry.' },
        version: {
          $id: 'AgentToolVersion',
          description: 'The version that works on a call: a number, or `live`, the default: the one that is live then.',
          anyOf: [
            {
              $id: 'CalledVersionNumber',
              description: 'A version.',
              type: 'integer',
              minimum: 1,
              maximum: 2_147_483_647,
            },
            { $id: 'CalledVersionLive', description: 'The version that is live.', const: 'live' },
          ],
        },
        permission_policy: permissionPolicy,
      },
      required: ['type', 'agent_id'],
      additionalProperties: false,
    },
    {
      $id: 'CustomTool',
      description: 'A tool that your client runs: the turn waits for its result.',
      type: 'object',
      properties: {
        type: { const: 'custom' },
        name: {
          type: 'string',
          pattern: '^[a-zA-Z0-9_-]{1,64}$',
          description: 'Its name. Built-in names and names that begin with `mcp__` are taken.',
        },
        description: {
          type: 'string',
          maxLength: MAX_DESCRIPTION_LENGTH,
          description: 'What it does and when to use it, for the model.',
        },
        input_schema: {
          $id: 'CustomToolInputSchema',
          type: 'object',
          description: 'JSON Schema 2020-12 of the tool’s input; at most 32 KiB as compact JSON.',
          properties: { type: { const: 'object' } },
          required: ['type'],
          additionalProperties: true,
        },
      },
      required: ['type', 'name', 'description', 'input_schema'],
      additionalProperties: false,
    },
  ],
} as const;

export const sessionToolsSchema = {
  type: 'array',
  items: sessionToolSchema,
  // One agent more than allowed, so that the error names its place.
  maxItems: MAX_CUSTOM_TOOLS + MAX_TOOLSETS + MEMORY_KINDS.length + MAX_AGENTS + 3,
  description:
    'Permissions of MCP servers’ tools, a workspace, memories, the tool `wait`, other agents, and custom tools.',
} as const;

import type { Db } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import { groupName } from '../projects/approver-groups.js';
import { described, objectSchema } from '../platform/object-schema.js';
import { setImmediate } from 'node:timers/promises';
import { ServiceError, validationError } from '../platform/errors.js';
import { MAX_SCHEMA_VALUES, toObjectSchema } from '../mcp/input-schema.js';
import { hasMoreValuesThan } from '../platform/value-count.js';
import { findServers } from '../mcp/find-servers.js';
import { unknownNames } from '../mcp/store.js';
import { MAX_TOOLS } from '../mcp/tools.js';
import { toolStatuses } from '../mcp/tool-status.js';
import { isWritable } from '../memories/entries.js';
import { MEMORY_KINDS, ownerOf, type MemoryOwner } from '../memories/owner.js';
import type { Scope } from '../projects/permissions.js';
import { isUsableSchema } from './custom-tool-schema.js';
import type { McpServerRow } from '../db/entities/mcp-servers.js';
import type {
  AgentTool,
  CustomTool,
  McpToolset,
  PermissionPolicy,
  SessionTool,
  WorkspaceToolset,
} from '../db/entities/sessions.js';
import {
  AGENT_TOOL_PREFIX,
  BUILT_IN_TOOL_NAMES,
  hasWorkspace,
  isWorkspaceTool,
  MAX_AGENTS,
  MCP_TOOL_PREFIX,
  MEMORY,
  WAIT,
  WORKSPACE_TOOL_NAMES,
} from './tools.js';

const MAX_CUSTOM_TOOLS = 64;
const MAX_TOOLSETS = 10;
const MAX_SCHEMA_BYTES = 32 * 1024;
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

/**
 * Checks rules that the schema of `tools` cannot express.
 * @throws ServiceError `validation_error` for the first entry that breaks a rule
 */
export async function checkTools(tools: SessionTool[], serverIds: string[]): Promise<void> {
  const names = new Set<string>();
  const servers = new Set<string>();
  let workspaces = 0;
  for (const [index, tool] of tools.entries()) {
    const path = `/tools/${index}`;
    if (tool.type === 'mcp_toolset') checkToolset(tool, path, serverIds, servers);
    else if (tool.type === 'workspace') {
      workspaces += 1;
      checkWorkspace(tool, path, workspaces);
    } else if (tool.type === 'wait') {
      if (tools.findIndex(({ type }) => type === 'wait') < index)
        throw validationError(path, 'is a second wait; a session has one at most');
    } else if (tool.type === 'memory') {
      if (tools.findIndex((one) => one.type === 'memory' && one.of === tool.of) < index)
        throw validationError(`${path}/of`, 'has a memory already; send one of each');
      if (tool.permission_policy !== undefined) checkPolicy(tool.permission_policy, path);
    } else if (tool.type === 'agent') checkAgent(tools, tool, index);
    else {
      if (tool.name === MEMORY && tools.some(({ type }) => type === 'memory'))
        throw validationError(`${path}/name`, 'is the name of the built-in tool of the entries memory');
      if (tool.name.startsWith(AGENT_TOOL_PREFIX) && tools.some(({ type }) => type === 'agent'))
        throw validationError(`${path}/name`, `must not start with ${AGENT_TOOL_PREFIX} beside an entry agent`);
      if (tool.name === WAIT && tools.some(({ type }) => type === 'wait'))
        throw validationError(`${path}/name`, 'is the name of the built-in tool of the entry wait');
      if (hasWorkspace(tools) && isWorkspaceTool(tool.name))
        throw validationError(`${path}/name`, 'is the name of a tool of the workspace');
      await checkCustomTool(tool, path, names);
    }
  }
}

function checkAgent(tools: SessionTool[], { agent_id: id, permission_policy: policy }: AgentTool, index: number): void {
  const path = `/tools/${index}/agent_id`;
  const before = tools.slice(0, index).filter((tool) => tool.type === 'agent');
  if (before.some((tool) => tool.agent_id === id))
    throw validationError(path, 'has an entry already; send one per agent');
  if (before.length === MAX_AGENTS)
    throw validationError(path, `is agent number ${MAX_AGENTS + 1}, at most ${MAX_AGENTS} are allowed`);
  if (policy !== undefined) checkPolicy(policy, `/tools/${index}`);
}

/**
 * Checks that a session has what its memories are of.
 * @throws ServiceError `validation_error` at the first entry whose owner the session lacks
 */
export function checkMemories(tools: SessionTool[], session: MemoryOwner): void {
  for (const [index, tool] of tools.entries()) {
    if (tool.type !== 'memory' || ownerOf(tool.of, session) !== null) continue;
    const needs = { user: 'a user', agent: 'an agent', agent_user: 'a user and an agent', project: 'nothing' }[tool.of];
    throw validationError(`/tools/${index}/of`, `needs a session with ${needs}`);
  }
}

/** The permissions that the entries of `tools` need beside those of the operation, in their order. */
export function scopesOfTools(tools: readonly SessionTool[]): Scope[] {
  return tools.flatMap((tool) =>
    tool.type === 'memory' ? [isWritable(tool) ? ('memories:write' as const) : ('memories:read' as const)] : [],
  );
}

function checkToolset(tool: McpToolset, path: string, serverIds: string[], seen: Set<string>): void {
  const { mcp_server_id: id, configs = [] } = tool;
  if (!serverIds.includes(id)) throw validationError(`${path}/mcp_server_id`, 'must be one of mcp_servers');
  if (seen.has(id)) throw validationError(`${path}/mcp_server_id`, 'has an mcp_toolset already; send one per server');
  seen.add(id);
  checkConfigNames(configs, path);
  checkPolicies(tool, path);
}

function checkWorkspace(tool: WorkspaceToolset, path: string, count: number): void {
  const { configs = [] } = tool;
  if (count > 1) throw validationError(path, 'is a second workspace; a session has one at most');
  const unknown = configs.findIndex(({ name }) => !isWorkspaceTool(name));
  if (unknown >= 0)
    throw validationError(`${path}/configs/${unknown}/name`, `must be one of ${WORKSPACE_TOOL_NAMES.join(', ')}`);
  checkConfigNames(configs, path);
  checkPolicies(tool, path);
}

function checkPolicies({ default_config, configs = [] }: McpToolset | WorkspaceToolset, path: string): void {
  if (default_config !== undefined) checkPolicy(default_config.permission_policy, `${path}/default_config`);
  for (const [index, config] of configs.entries()) checkPolicy(config.permission_policy, `${path}/configs/${index}`);
}

/** @throws ServiceError `validation_error` for approvers of calls that nobody is asked about */
function checkPolicy({ type, approvers }: PermissionPolicy, path: string): void {
  if (type === 'always_allow' && approvers !== undefined)
    throw validationError(`${path}/permission_policy/approvers`, 'is allowed only with always_ask');
}

function checkConfigNames(configs: { name: string }[], path: string): void {
  const repeated = configs.findIndex(({ name }, at) => configs.findIndex((other) => other.name === name) !== at);
  if (repeated >= 0) throw validationError(`${path}/configs/${repeated}/name`, 'is configured already');
}

async function checkCustomTool(tool: CustomTool, path: string, seen: Set<string>): Promise<void> {
  const { name, input_schema: schema } = tool;
  if (seen.size === MAX_CUSTOM_TOOLS)
    throw validationError(
      path,
      `is custom tool number ${MAX_CUSTOM_TOOLS + 1}, at most ${MAX_CUSTOM_TOOLS} are allowed`,
    );
  if ((BUILT_IN_TOOL_NAMES as readonly string[]).includes(name))
    throw validationError(`${path}/name`, 'is the name of a built-in tool');
  if (name.startsWith(MCP_TOOL_PREFIX)) throw validationError(`${path}/name`, `must not start with ${MCP_TOOL_PREFIX}`);
  if (seen.has(name)) throw validationError(`${path}/name`, 'is the name of another custom tool');
  seen.add(name);
  if (hasMoreValuesThan(MAX_SCHEMA_VALUES, schema)) {
    throw validationError(`${path}/input_schema`, `must have at most ${MAX_SCHEMA_VALUES} JSON values`);
  }
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_SCHEMA_BYTES) {
    throw validationError(`${path}/input_schema`, 'must have at most 32 KiB as compact JSON');
  }
  // Checking a large schema takes tens of milliseconds: let other requests run in between.
  await setImmediate();
  if (!isUsableSchema(schema)) {
    throw validationError(`${path}/input_schema`, 'must be a valid JSON Schema (2020-12) that refers to itself only');
  }
}

/** @throws ServiceError `unknown_mcp_tool` listing the names in `configs` that the servers do not offer */
export async function requireOfferedTools(db: Db, projectId: string, tools: SessionTool[]): Promise<void> {
  const toolsets = tools.filter(
    (tool) => tool.type === 'mcp_toolset' && (tool.configs ?? []).length > 0,
  ) as McpToolset[];
  if (toolsets.length === 0) return;
  const servers = await findServers(
    db,
    projectId,
    toolsets.map((toolset) => toolset.mcp_server_id),
  );
  const problems = toolsets.flatMap(({ mcp_server_id, configs = [] }) => {
    const server = servers.find(({ id }) => id === mcp_server_id);
    const names = [...new Set(configs.map(({ name }) => name))];
    if (server === undefined) return names.length === 0 ? [] : [{ names, text: 'Its MCP server was deleted.' }];
    const statusOf = toolStatuses({ ...server, changed_tools: [] });
    const unknown = unknownNames(names, server.tool_list);
    const isUnknown = new Set(unknown);
    const notAllowed = names.filter((name) => !isUnknown.has(name) && statusOf(name) !== 'offered');
    return [
      { names: unknown, text: `The MCP server ${server.name} has no tool ${unknown.join(', ')}${leftOut(server)}.` },
      {
        names: notAllowed,
        text: `allowed_tools of the MCP server ${server.name} does not have ${notAllowed.join(', ')}.`,
      },
    ].filter((problem) => problem.names.length > 0);
  });
  if (problems.length === 0) return;
  throw new ServiceError('unknown_mcp_tool', problems.map(({ text }) => text).join(' '), {
    tools: [...new Set(problems.flatMap(({ names }) => names))],
  });
}

function leftOut({ tools_left_out: count, tool_list }: McpServerRow): string {
  if (count === 0) return '';
  return ` among the ${tool_list.length} that are kept; it lists ${count} more, so PATCH its allowed_tools with those that you need`;
}

/**
 * @throws ServiceError `agent_not_found` or `agent_version_not_found` for the first entry that names an agent, or a version, which does
 * not exist
 */
export async function requireCallableAgents(db: Db, projectId: string, tools: SessionTool[]): Promise<void> {
  const entries = tools.filter((tool) => tool.type === 'agent');
  if (entries.length === 0) return;
  const found = await runSql<{ id: string; version: number }>(
    db,
    sql`SELECT id, version FROM agents WHERE project_id = ${projectId} AND deleted_at IS NULL
          AND id = ANY(${entries.map(({ agent_id: id }) => id)}::text[])`,
  );
  const versions = new Map(found.map(({ id, version }) => [id, version]));
  for (const { agent_id: id, version = 'live' } of entries) {
    const newest = versions.get(id);
    if (newest === undefined) throw new ServiceError('agent_not_found', `There is no agent ${id}.`);
    if (version !== 'live' && version > newest)
      throw new ServiceError('agent_version_not_found', `The agent ${id} has no version ${version}.`);
  }
}

/** The custom tools, checked before, in the form sent to the model: with schemas that its API accepts. */
export async function toModelTools(tools: SessionTool[]): Promise<CustomTool[]> {
  const converted: CustomTool[] = [];
  for (const tool of tools) {
    if (tool.type !== 'custom') continue;
    converted.push({ ...tool, input_schema: toObjectSchema(tool.input_schema) });
    await setImmediate();
  }
  return converted;
}

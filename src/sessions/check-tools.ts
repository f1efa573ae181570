import { setImmediate } from 'node:timers/promises';
import type { Db } from '../db/db.js';
import type { McpServerRow } from '../db/entities/mcp-servers.js';
import type {
  AgentTool,
  CustomTool,
  McpToolset,
  MemoryTool,
  PermissionPolicy,
  SessionTool,
  WorkspaceToolset,
} from '../db/entities/sessions.js';
import { runSql, sql } from '../db/sql.js';
import { findServers } from '../mcp/find-servers.js';
import { MAX_SCHEMA_VALUES, toObjectSchema } from '../mcp/input-schema.js';
import { unknownNames } from '../mcp/store.js';
import { toolStatuses } from '../mcp/tool-status.js';
import { ownerOf, type MemoryOwner } from '../memories/owner.js';
import { ServiceError, validationError } from '../platform/errors.js';
import { hasMoreValuesThan } from '../platform/value-count.js';
import { isUsableSchema } from './custom-tool-schema.js';
import { MAX_CUSTOM_TOOLS } from './tool-fields.js';
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

const MAX_SCHEMA_BYTES = 32 * 1024;

/**
 * Checks rules that the schema of `tools` cannot express.
 * @throws ServiceError `validation_error` for the first entry that breaks a rule
 */
export async function checkTools(tools: SessionTool[], serverIds: string[]): Promise<void> {
  for (const [index, tool] of tools.entries()) {
    const entry = { path: `/tools/${index}`, tools, before: tools.slice(0, index), serverIds };
    if (tool.type === 'mcp_toolset') checkToolset(tool, entry);
    else if (tool.type === 'workspace') checkWorkspace(tool, entry);
    else if (tool.type === 'wait') checkWait(entry);
    else if (tool.type === 'memory') checkMemory(tool, entry);
    else if (tool.type === 'agent') checkAgent(tool, entry);
    else await checkCustomTool(tool, entry);
  }
}

/** An entry of `tools` among the others. */
interface Entry {
  path: string;
  tools: SessionTool[];
  before: SessionTool[];
  serverIds: string[];
}

function ofType<Type extends SessionTool['type']>(
  tools: SessionTool[],
  type: Type,
): Extract<SessionTool, { type: Type }>[] {
  return tools.filter((tool): tool is Extract<SessionTool, { type: Type }> => tool.type === type);
}

function checkWait({ path, before }: Entry): void {
  if (ofType(before, 'wait').length > 0) throw validationError(path, 'is a second wait; a session has one at most');
}

function checkMemory({ of, permission_policy: policy }: MemoryTool, { path, before }: Entry): void {
  if (ofType(before, 'memory').some((one) => one.of === of))
    throw validationError(`${path}/of`, 'has a memory already; send one of each');
  if (policy !== undefined) checkPolicy(policy, path);
}

function checkAgent({ agent_id: id, permission_policy: policy }: AgentTool, { path, before }: Entry): void {
  const agents = ofType(before, 'agent');
  if (agents.some((tool) => tool.agent_id === id))
    throw validationError(`${path}/agent_id`, 'has an entry already; send one per agent');
  if (agents.length === MAX_AGENTS)
    throw validationError(`${path}/agent_id`, `is agent number ${MAX_AGENTS + 1}, at most ${MAX_AGENTS} are allowed`);
  if (policy !== undefined) checkPolicy(policy, path);
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

function checkToolset(tool: McpToolset, { path, before, serverIds }: Entry): void {
  const { mcp_server_id: id, configs = [] } = tool;
  if (!serverIds.includes(id)) throw validationError(`${path}/mcp_server_id`, 'must be one of mcp_servers');
  if (ofType(before, 'mcp_toolset').some((other) => other.mcp_server_id === id))
    throw validationError(`${path}/mcp_server_id`, 'has an mcp_toolset already; send one per server');
  checkConfigNames(configs, path);
  checkPolicies(tool, path);
}

function checkWorkspace(tool: WorkspaceToolset, { path, before }: Entry): void {
  const { configs = [] } = tool;
  if (hasWorkspace(before)) throw validationError(path, 'is a second workspace; a session has one at most');
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

/** Why a custom tool cannot have this name beside the other entries; null if it can. */
function whyReserved(name: string, tools: SessionTool[]): string | null {
  const has = (type: SessionTool['type']): boolean => ofType(tools, type).length > 0;
  if (name === MEMORY && has('memory')) return 'is the name of the built-in tool of the entries memory';
  if (name.startsWith(AGENT_TOOL_PREFIX) && has('agent'))
    return `must not start with ${AGENT_TOOL_PREFIX} beside an entry agent`;
  if (name === WAIT && has('wait')) return 'is the name of the built-in tool of the entry wait';
  return hasWorkspace(tools) && isWorkspaceTool(name) ? 'is the name of a tool of the workspace' : null;
}

async function checkCustomTool(tool: CustomTool, { path, tools, before }: Entry): Promise<void> {
  const { name, input_schema: schema } = tool;
  const reserved = whyReserved(name, tools);
  if (reserved !== null) throw validationError(`${path}/name`, reserved);
  const others = ofType(before, 'custom');
  if (others.length === MAX_CUSTOM_TOOLS)
    throw validationError(
      path,
      `is custom tool number ${MAX_CUSTOM_TOOLS + 1}, at most ${MAX_CUSTOM_TOOLS} are allowed`,
    );
  if ((BUILT_IN_TOOL_NAMES as readonly string[]).includes(name))
    throw validationError(`${path}/name`, 'is the name of a built-in tool');
  if (name.startsWith(MCP_TOOL_PREFIX)) throw validationError(`${path}/name`, `must not start with ${MCP_TOOL_PREFIX}`);
  if (others.some((other) => other.name === name))
    throw validationError(`${path}/name`, 'is the name of another custom tool');
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
  const toolsets = ofType(tools, 'mcp_toolset').filter(({ configs = [] }) => configs.length > 0);
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
  const entries = ofType(tools, 'agent');
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
  for (const tool of ofType(tools, 'custom')) {
    converted.push({ ...tool, input_schema: toObjectSchema(tool.input_schema) });
    await setImmediate();
  }
  return converted;
}

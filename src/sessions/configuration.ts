import type { FromSchema } from 'json-schema-to-ts';
import type { Database, Tx } from '../db/db.js';
import { McpServerEntity } from '../db/entities/mcp-servers.js';
import type { SessionTool } from '../db/entities/sessions.js';
import { requireResources } from '../db/resources.js';
import type { ModelCatalogue, ModelEntry } from '../models/catalogue.js';
import type { Config } from '../platform/config.js';
import { isWritable } from '../memories/entries.js';
import { ServiceError, validationError } from '../platform/errors.js';
import { shownAs } from '../platform/object-schema.js';
import { requireScope } from '../projects/permissions.js';
import { checkBudgetForModel, requirePrice, type Budget } from './budget.js';
import type { OwnConfiguration, Session } from './store.js';
import { checkTools, requireCallableAgents, requireOfferedTools, toModelTools } from './check-tools.js';
import { sessionToolsSchema } from './tool-fields.js';
import { hasWorkspace } from './tools.js';

/** The fields of a configuration, without defaults: that of a session and that of an agent have the same ones. */
export const configurationFields = {
  model_id: { type: 'string', description: 'An id of GET /v1/models.' },
  thinking_enabled: {
    type: 'boolean',
    description: 'Whether the model thinks before it answers, if it supports that.',
  },
  instruction: {
    type: ['string', 'null'],
    maxLength: 100_000,
    description: 'What the agent is for and how it should work. It is added to the service’s own system prompt.',
  },
  mcp_servers: {
    type: 'array',
    items: { type: 'string' },
    maxItems: 10,
    uniqueItems: true,
    description: 'Ids of the MCP servers whose tools the agent can call.',
  },
  tools: sessionToolsSchema,
  fallback_model_ids: {
    type: 'array',
    items: { type: 'string' },
    maxItems: 3,
    uniqueItems: true,
    description: 'The models that a turn goes on with when its model fails, in order.',
  },
} as const;

type ConfigurationFields = FromSchema<{
  type: 'object';
  properties: typeof configurationFields;
  additionalProperties: false;
}>;

/** A configuration with all its fields. */
export type Configuration = Omit<Required<ConfigurationFields>, 'tools'> & { tools: SessionTool[] };

const DEFAULTS = {
  thinking_enabled: true,
  instruction: null,
  mcp_servers: [],
  tools: [],
  fallback_model_ids: [],
} satisfies Omit<Configuration, 'model_id'>;

/** The fields for a body in which each may be absent: the OpenAPI document shows their defaults. */
export const configurationFieldsWithDefaults = Object.fromEntries(
  Object.entries(configurationFields).map(([name, field]) => [
    name,
    name in DEFAULTS ? shownAs(field, { ...field, default: DEFAULTS[name as keyof typeof DEFAULTS] }) : field,
  ]),
) as unknown as typeof configurationFields;

export const CONFIGURATION_FIELDS = Object.keys(configurationFields) as (keyof Configuration)[];

export function withDefaults<Body extends Partial<Configuration> & { model_id: string }>(
  body: Body,
): Body & Configuration {
  return { ...structuredClone(DEFAULTS), ...body };
}

/**
 * Checks what needs no database: the rules of `tools`, and the permissions for the servers and agents that the body names.
 * @throws ServiceError `validation_error`, `insufficient_scope`
 */
export async function checkConfiguration(
  caller: { scopes: ReadonlySet<string> },
  { tools, mcp_servers }: Pick<Configuration, 'tools' | 'mcp_servers'>,
): Promise<void> {
  await checkTools(tools, mcp_servers);
  checkScopes(caller, { tools, mcp_servers });
}

/**
 * Checks the permissions for the servers, agents and memories that fields of a configuration name. A change of an agent has some of the
 * fields: a toolset alone names its server, too.
 * @throws ServiceError `insufficient_scope`
 */
export function checkScopes(
  caller: { scopes: ReadonlySet<string> },
  { tools = [], mcp_servers = [] }: Partial<Pick<Configuration, 'tools' | 'mcp_servers'>>,
): void {
  const has = (type: SessionTool['type']): boolean => tools.some((tool) => tool.type === type);
  if (mcp_servers.length > 0 || has('mcp_toolset')) requireScope(caller, 'mcp_servers:read');
  if (has('agent')) requireScope(caller, 'agents:read');
  for (const tool of tools)
    if (tool.type === 'memory') requireScope(caller, isWritable(tool) ? 'memories:write' : 'memories:read');
}

interface ResolveDeps {
  db: Database | Tx;
  models: ModelCatalogue;
  config: Pick<Config, 'sandboxProvider'>;
}

/**
 * Checks that everything exists that the `named` fields of a configuration name, and that the budget can be kept with its models.
 * @throws ServiceError `unknown_model`, `validation_error`, `mcp_server_not_found`, `unknown_mcp_tool`, `agent_not_found`,
 * `agent_version_not_found`, `workspace_unavailable`
 */
export async function lookUpConfiguration(
  { db, models, config }: ResolveDeps,
  projectId: string,
  named: Partial<Configuration>,
  budget: Budget | null = null,
): Promise<void> {
  const { model_id, fallback_model_ids = [], mcp_servers = [], tools = [] } = named;
  if (model_id !== undefined) requireModel(models, model_id);
  for (const [index, id] of fallback_model_ids.entries()) {
    if (id === model_id) throw isTheModel(`/fallback_model_ids/${index}`);
    requireModel(models, id);
    if (budget !== null) requirePrice(models, id, `/fallback_model_ids/${index}`);
  }
  if (model_id !== undefined) checkBudgetForModel(models, budget, model_id, '/model_id');
  await requireResources(db, McpServerEntity, projectId, mcp_servers, serversNotFound);
  await requireOfferedTools(db, projectId, tools);
  await requireCallableAgents(db, projectId, tools);
  if (hasWorkspace(tools)) requireSandbox(config);
}

/** The configuration, looked up before, as it is stored. */
export async function toOwnConfiguration(configuration: Configuration): Promise<OwnConfiguration> {
  const { model_id, thinking_enabled, instruction, mcp_servers, tools, fallback_model_ids } = configuration;
  const model_tools = await toModelTools(tools);
  return { model_id, thinking_enabled, instruction, mcp_servers, tools, model_tools, fallback_model_ids };
}

/** The error for a fallback model that is the model, or the reverse. */
export function isTheModel(path: string): ServiceError {
  return validationError(path, 'is the model of the session');
}

/** @throws ServiceError `workspace_unavailable` */
export function requireSandbox({ sandboxProvider }: Pick<Config, 'sandboxProvider'>): void {
  if (sandboxProvider !== 'off') return;
  throw new ServiceError(
    'workspace_unavailable',
    'This service runs no commands: its operator has set SANDBOX_PROVIDER to off. Create the session without the workspace entry in tools.',
  );
}

/** @throws ServiceError `unknown_model` */
export function requireModel(models: ModelCatalogue, id: string): ModelEntry {
  const entry = models.get(id);
  if (entry !== undefined) return entry;
  throw new ServiceError('unknown_model', 'There is no model of this id.', { available_models: [...models.keys()] });
}

/**
 * Checks that a session of its own configuration can be forked with this model: its fallback models and its budget must fit it, as at
 * creation.
 * @throws ServiceError `unknown_model`, `validation_error`
 */
export function requireForkModel(
  models: ModelCatalogue,
  { fallback_model_ids, budget }: Pick<Session, 'fallback_model_ids' | 'budget'>,
  modelId: string,
): { id: string; currency: string | null } {
  const { price } = requireModel(models, modelId);
  if (fallback_model_ids.includes(modelId)) {
    throw validationError('/model_id', 'is a fallback model of the session: fork with another one');
  }
  checkBudgetForModel(models, budget, modelId, '/model_id');
  return { id: modelId, currency: price?.currency ?? null };
}

function serversNotFound(ids: string[]): ServiceError {
  return new ServiceError('mcp_server_not_found', `There is no MCP server ${ids.join(', ')}.`, { mcp_server_ids: ids });
}

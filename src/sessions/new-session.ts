import type { FromSchema } from 'json-schema-to-ts';
import type { Database, Tx } from '../db/db.js';
import { McpServerEntity } from '../db/entities/mcp-servers.js';
import type { CustomTool } from '../db/entities/sessions.js';
import { requireResources } from '../db/resources.js';
import type { ModelCatalogue, ModelEntry } from '../models/catalogue.js';
import { ServiceError, validationError } from '../platform/errors.js';
import { newId } from '../platform/ids.js';
import { requireScope } from '../projects/permissions.js';
import { budgetSchema, checkBudgetForModel, requirePrice } from './budget.js';
import { MAX_METADATA_KEY_LENGTH, MAX_METADATA_PAIRS, MAX_METADATA_VALUE_LENGTH } from './metadata.js';
import { insertSession, type Session } from './store.js';
import { hasWorkspace } from './tools.js';
import type { Config } from '../platform/config.js';
import { checkTools, requireOfferedTools, sessionToolsSchema, toModelTools } from './tool-fields.js';

export const newMetadataSchema = {
  type: 'object',
  description:
    'Your own pairs of texts. The list of sessions can be filtered by them, and usage grouped. Usage keeps a copy of them for 90 days (USAGE_METADATA_DAYS), also of a deleted session: put in ids of yours, such as a customer’s number, and no names or addresses.',
  maxProperties: MAX_METADATA_PAIRS,
  propertyNames: { minLength: 1, maxLength: MAX_METADATA_KEY_LENGTH },
  additionalProperties: { type: 'string', maxLength: MAX_METADATA_VALUE_LENGTH },
} as const;

/** Who a session acts for: opaque to the service. */
export const USER_PATTERN = '^[A-Za-z0-9_.@:+-]{1,128}$';

export const newSessionBody = {
  $id: 'NewSession',
  description: 'The configuration of a session. Only metadata and budget can be changed later.',
  type: 'object',
  properties: {
    model_id: { type: 'string', description: 'An id of GET /v1/models.' },
    thinking_enabled: {
      type: 'boolean',
      default: true,
      description: 'Whether the model thinks before it answers, if it supports that.',
    },
    instruction: {
      type: ['string', 'null'],
      maxLength: 100_000,
      default: null,
      description: 'What the agent is for and how it should work. It is added to the service’s own system prompt.',
    },
    mcp_servers: {
      type: 'array',
      items: { type: 'string' },
      maxItems: 10,
      uniqueItems: true,
      default: [],
      description: 'Ids of the MCP servers whose tools the agent can call.',
    },
    metadata: { ...newMetadataSchema, default: {} },
    tools: { ...sessionToolsSchema, default: [] },
    fallback_model_ids: {
      type: 'array',
      items: { type: 'string' },
      maxItems: 3,
      uniqueItems: true,
      default: [],
      description: 'The models that a turn goes on with when its model fails, in order.',
    },
    budget: { ...budgetSchema, default: null },
    user: {
      type: ['string', 'null'],
      pattern: USER_PATTERN,
      default: null,
      description:
        'The signed-in person for whom the agent acts. MCP servers with `credentials: "user"` are called with the credential of this user. Your back end says who it is; the service does not check it.',
    },
  },
  required: ['model_id'],
  additionalProperties: false,
  examples: [{ model_id: 'claude-sonnet-5-5', instruction: 'Answer in one sentence.', metadata: { customer: '4711' } }],
} as const;

export type NewSessionBody = FromSchema<typeof newSessionBody>;

/** A session that passed every check and can be inserted. */
interface CheckedSession {
  body: NewSessionBody;
  model_tools: CustomTool[];
  /** That of its model's price; null without a price. */
  currency: string | null;
}

/**
 * Checks what needs no database: the rules of `tools`, and the permissions for what the body names.
 * @throws ServiceError `validation_error`, `insufficient_scope`
 */
export async function checkNewSession(caller: { scopes: ReadonlySet<string> }, body: NewSessionBody): Promise<void> {
  await checkTools(body.tools, body.mcp_servers);
  if (body.mcp_servers.length > 0) requireScope(caller, 'mcp_servers:read');
}

/**
 * Checks that everything the body names exists.
 * @throws ServiceError `unknown_model`, `mcp_server_not_found`, `unknown_mcp_tool`, `workspace_unavailable`
 */
export async function resolveNewSession(
  { db, models, config }: { db: Database | Tx; models: ModelCatalogue; config: Pick<Config, 'sandboxProvider'> },
  projectId: string,
  body: NewSessionBody,
): Promise<CheckedSession> {
  const { price } = requireModel(models, body.model_id);
  checkFallbacks(models, body);
  checkBudgetForModel(models, body.budget, body.model_id, '/model_id');
  await requireResources(db, McpServerEntity, projectId, body.mcp_servers, serversNotFound);
  await requireOfferedTools(db, projectId, body.tools);
  if (hasWorkspace(body.tools)) requireSandbox(config);
  return { body, model_tools: await toModelTools(body.tools), currency: price?.currency ?? null };
}

function requireSandbox({ sandboxProvider }: Pick<Config, 'sandboxProvider'>): void {
  if (sandboxProvider !== 'off') return;
  throw new ServiceError(
    'workspace_unavailable',
    'This service runs no commands: its operator has set SANDBOX_PROVIDER to off. Create the session without the workspace entry in tools.',
  );
}

export function createSession(
  tx: Tx,
  projectId: string,
  { body: { user, ...body }, ...checked }: CheckedSession,
): Promise<Session> {
  const identity = { id: newId('session'), project_id: projectId, end_user: user };
  return insertSession(tx, { ...identity, ...body, ...checked });
}

/** @throws ServiceError `unknown_model` */
export function requireModel(models: ModelCatalogue, id: string): ModelEntry {
  const entry = models.get(id);
  if (entry !== undefined) return entry;
  throw new ServiceError('unknown_model', 'There is no model of this id.', { available_models: [...models.keys()] });
}

/**
 * Checks that a session can be forked with this model: its fallback models and its budget must fit it, as at creation.
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

/** @throws ServiceError `unknown_model`, `validation_error` */
function checkFallbacks(models: ModelCatalogue, { model_id, fallback_model_ids, budget }: NewSessionBody): void {
  for (const [index, id] of fallback_model_ids.entries()) {
    const path = `/fallback_model_ids/${index}`;
    if (id === model_id) throw validationError(path, 'is the model of the session');
    requireModel(models, id);
    if (budget !== null) requirePrice(models, id, path);
  }
}

function serversNotFound(ids: string[]): ServiceError {
  return new ServiceError('mcp_server_not_found', `There is no MCP server ${ids.join(', ')}.`, { mcp_server_ids: ids });
}

import type { FromSchema } from 'json-schema-to-ts';
import { transaction } from '../../src/db/transaction.js';
import { ServiceError } from '../../src/platform/errors.js';
import { newId } from '../../src/platform/ids.js';
import type { ModelCatalogue } from '../../src/models/catalogue.js';
import { requireScope } from '../../src/projects/permissions.js';
import { MAX_METADATA_PAIRS, MAX_METADATA_KEY_LENGTH, MAX_METADATA_VALUE_LENGTH } from '../../src/sessions/metadata.js';
import { insertSession, missingMcpServers } from '../../src/sessions/store.js';
import type { SessionTool } from '../../src/db/entities/sessions.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { presentSession, sessionSchema } from './present.js';
import { checkTools, requireOfferedTools, sessionToolsSchema, toModelTools } from './tools.js';

const body = {
  type: 'object',
  properties: {
    model_id: { type: 'string', description: 'An id of GET /v1/models.' },
    thinking_enabled: { type: 'boolean', default: true },
    instruction: { type: ['string', 'null'], maxLength: 100_000, default: null },
    mcp_servers: { type: 'array', items: { type: 'string' }, maxItems: 10, uniqueItems: true, default: [] },
    metadata: {
      type: 'object',
      maxProperties: MAX_METADATA_PAIRS,
      propertyNames: { minLength: 1, maxLength: MAX_METADATA_KEY_LENGTH },
      additionalProperties: { type: 'string', maxLength: MAX_METADATA_VALUE_LENGTH },
      default: {},
    },
    tools: { ...sessionToolsSchema, default: [] },
  },
  required: ['model_id'],
  additionalProperties: false,
  examples: [{ model_id: 'claude-sonnet-5-5', instruction: 'Answer in one sentence.', metadata: { customer: '4711' } }],
} as const satisfies JsonSchema;

/** 64 tools with schemas of 1,500 values each. */
const MAX_SESSION_VALUES = 100_000;

export const createSession = operation<FromSchema<typeof body>>({
  id: 'createSession',
  summary: 'Create a session',
  body,
  maxBodyValues: MAX_SESSION_VALUES,
  idempotent: true,
  success: { status: 201, description: 'The session, IDLE.', schema: sessionSchema },
  errors: ['insufficient_scope', 'unknown_model', 'mcp_server_not_found', 'unknown_mcp_tool'],
  async check({ caller, body }) {
    await checkTools(body.tools, body.mcp_servers);
    if (body.mcp_servers.length > 0) requireScope(caller, 'mcp_servers:read');
  },
  async handle({ deps, caller, body, record }) {
    const tools = body.tools as SessionTool[];
    requireModel(deps.models, body.model_id);
    requireNoneMissing(await missingMcpServers(deps.db, caller.projectId, body.mcp_servers));
    await requireOfferedTools(deps.db, caller.projectId, tools);

    const identity = { id: newId('session'), project_id: caller.projectId };
    const model_tools = await toModelTools(tools);
    return transaction(deps.db, async (tx) => {
      const session = await insertSession(tx, { ...identity, ...body, tools, model_tools });
      const answer = presentSession(session);
      await record(tx, answer);
      return answer;
    });
  },
});

function requireModel(models: ModelCatalogue, id: string): void {
  if (models.has(id)) return;
  throw new ServiceError('unknown_model', 'There is no model of this id.', { available_models: [...models.keys()] });
}

function requireNoneMissing(ids: string[]): void {
  if (ids.length === 0) return;
  throw new ServiceError('mcp_server_not_found', `There is no MCP server ${ids.join(', ')}.`, { mcp_server_ids: ids });
}

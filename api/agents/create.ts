import type { FromSchema } from 'json-schema-to-ts';
import { agentSkillsSchema, requireAgentSkills } from '../../src/agents/skills.js';
import { insertAgent } from '../../src/agents/store.js';
import { requireStorage } from '../../src/files/storage-limit.js';
import { objectSchema } from '../../src/platform/object-schema.js';
import { requireScope } from '../../src/projects/permissions.js';
import {
  checkConfiguration,
  configurationFieldsWithDefaults,
  lookUpConfiguration,
  toOwnConfiguration,
  withDefaults,
} from '../../src/sessions/configuration.js';
import { answerInTransaction } from '../http/core/idempotency.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { descriptionField, MAX_AGENT_VALUES, nameField } from './fields.js';
import { agentSchema, presentAgent } from './present.js';

const { model_id, ...others } = configurationFieldsWithDefaults;

const body = {
  $id: 'NewAgent',
  description: 'An agent and the configuration of its first version.',
  ...objectSchema(
    { name: nameField, model_id },
    {
      description: { ...descriptionField, default: '' },
      ...others,
      skills: { ...agentSkillsSchema, default: [] },
    },
  ),
  examples: [{ name: 'order-desk', model_id: 'claude-sonnet-5-5', instruction: 'Answer in one sentence.' }],
} as const satisfies JsonSchema;

export const createAgent = operation<FromSchema<typeof body>>({
  id: 'createAgent',
  summary: 'Create an agent',
  description: 'Stores a configuration under a name, as version 1, which is live. Then create sessions with `agent`.',
  body,
  maxBodyValues: MAX_AGENT_VALUES,
  idempotent: true,
  success: { status: 201, description: 'The agent.', schema: agentSchema },
  errors: [
    'insufficient_scope',
    'unknown_model',
    'mcp_server_not_found',
    'unknown_mcp_tool',
    'skill_not_found',
    'workspace_unavailable',
    'agent_name_taken',
    'agent_limit_reached',
    'storage_limit_reached',
  ],
  async check({ caller, body }) {
    await checkConfiguration(caller, withDefaults(body));
    if (body.skills.length > 0) requireScope(caller, 'skills:read');
  },
  async handle(call) {
    const { deps, caller, body } = call;
    const { projectId } = caller;
    const { name, description, skills } = body;
    const whole = withDefaults(body);
    await requireStorage(deps.db, projectId, deps.config.maxStoragePerProject);
    await lookUpConfiguration(deps, projectId, whole);
    await requireAgentSkills(deps.db, projectId, skills);
    const configuration = await toOwnConfiguration(whole);
    return answerInTransaction(call, async (tx) =>
      presentAgent(await insertAgent(tx, projectId, name, { description, configuration, skills })),
    );
  },
});

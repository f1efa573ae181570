import type { FromSchema } from 'json-schema-to-ts';
import type { Tx } from '../../src/db/db.js';
import type { SessionTool } from '../../src/db/entities/sessions.js';
import { versionNumber } from '../../src/agents/fields.js';
import { agentSkillsSchema, requireAgentSkills } from '../../src/agents/skills.js';
import {
  agentNotFound,
  changeAgent,
  lockAgent,
  type Agent,
  type AgentState,
  type NewVersion,
} from '../../src/agents/store.js';
import { requireStorage } from '../../src/files/storage-limit.js';
import { ServiceError, validationError } from '../../src/platform/errors.js';
import { jsonHash } from '../../src/platform/json-hash.js';
import { described } from '../../src/platform/object-schema.js';
import { requireScope } from '../../src/projects/permissions.js';
import {
  checkScopes,
  configurationFields,
  isTheModel,
  lookUpConfiguration,
  toOwnConfiguration,
  type Configuration,
} from '../../src/sessions/configuration.js';
import { checkTools } from '../../src/sessions/check-tools.js';
import { answerInTransaction } from '../http/core/idempotency.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { descriptionField, MAX_AGENT_VALUES } from './fields.js';
import { agentSchema, presentAgent } from './present.js';
import { agentStateOfPath } from './resource.js';

const body = {
  $id: 'AgentChange',
  description: 'Changes of an agent. Fields that are absent stay.',
  type: 'object',
  properties: {
    description: descriptionField,
    ...configurationFields,
    skills: agentSkillsSchema,
    live_version: described(
      versionNumber,
      'The version that is live after this: one that exists. Without it, a version that this makes is live.',
    ),
    expected_version: described(versionNumber, 'Nothing changes unless this is the newest version.'),
  },
  minProperties: 1,
  additionalProperties: false,
  examples: [{ instruction: 'Answer in two sentences.', expected_version: 3 }],
} as const satisfies JsonSchema;

type Body = FromSchema<typeof body>;

export const updateAgent = operation<Body, AgentState>({
  id: 'updateAgent',
  summary: 'Make a new version of an agent, or publish one',
  description:
    'Changed fields make the next version, which is live at once unless `live_version` says otherwise. Sessions that follow the agent have it from their next turn on; an open turn keeps its configuration.',
  body,
  maxBodyValues: MAX_AGENT_VALUES,
  idempotent: true,
  success: { status: 200, description: 'The agent.', schema: agentSchema },
  errors: [
    'insufficient_scope',
    'agent_not_found',
    'unknown_model',
    'mcp_server_not_found',
    'unknown_mcp_tool',
    'skill_not_found',
    'workspace_unavailable',
    'agent_version_conflict',
    'storage_limit_reached',
  ],
  resource: agentStateOfPath,
  check({ caller, body }) {
    checkScopes(caller, body);
    if (body.skills?.length) requireScope(caller, 'skills:read');
  },
  async handle(call) {
    const { deps, caller, resource, body } = call;
    const { projectId } = caller;
    await requireStorage(deps.db, projectId, deps.config.maxStoragePerProject);
    await lookUpConfiguration(deps, projectId, body);
    await requireAgentSkills(deps.db, projectId, body.skills ?? []);
    return answerInTransaction(call, async (tx) => {
      const agent = (await lockAgent(tx, projectId, resource.id)) ?? agentNotFound();
      return presentAgent(await change(tx, agent, body));
    });
  },
});

/** @throws ServiceError `agent_version_conflict`, `validation_error` */
async function change(tx: Tx, agent: Agent, body: Body): Promise<Agent> {
  const { version, live_version: liveVersion } = agent;
  if (body.expected_version !== undefined && body.expected_version !== version) {
    const message = `The newest version of the agent is ${version}. Read it, and send your change again.`;
    throw new ServiceError('agent_version_conflict', message, { version });
  }
  if (body.live_version !== undefined && body.live_version > version) {
    throw validationError('/live_version', `must be the number of a version that exists: 1 to ${version}`);
  }
  const next = await nextVersion(agent, body);
  const live = body.live_version ?? (next === null ? liveVersion : version + 1);
  return next === null && live === liveVersion ? agent : changeAgent(tx, agent, next, live);
}

/** The version that the body makes of the newest one; null if it is the same. @throws ServiceError `validation_error` */
async function nextVersion(agent: Agent, body: Body): Promise<NewVersion | null> {
  const { live_version: _live, expected_version: _expected, ...named } = body;
  const before = shownVersion(agent);
  const after = { ...before, ...named };
  if (jsonHash(before).equals(jsonHash(after))) return null;
  const { description, skills, ...configuration } = after;
  await checkTools(configuration.tools, configuration.mcp_servers);
  requireOtherFallbacks(configuration, body);
  return { description, skills, configuration: await toOwnConfiguration(configuration) };
}

function shownVersion(agent: Agent): Configuration & Pick<NewVersion, 'description' | 'skills'> {
  const { description, model_id, thinking_enabled, instruction, mcp_servers, fallback_model_ids, skills } = agent;
  const tools = JSON.parse(agent.tools) as SessionTool[];
  return { description, model_id, thinking_enabled, instruction, mcp_servers, tools, fallback_model_ids, skills };
}

/** @throws ServiceError `validation_error` at the field that the body names */
function requireOtherFallbacks({ model_id, fallback_model_ids }: Configuration, body: Body): void {
  const index = fallback_model_ids.indexOf(model_id);
  if (index < 0) return;
  if (body.fallback_model_ids !== undefined) throw isTheModel(`/fallback_model_ids/${index}`);
  throw validationError('/model_id', 'is one of fallback_model_ids');
}

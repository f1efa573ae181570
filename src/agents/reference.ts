import type { FromSchema } from 'json-schema-to-ts';
import type { Database, Tx } from '../db/db.js';
import type { Overrides } from '../db/entities/sessions.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { ModelCatalogue } from '../models/catalogue.js';
import type { Config } from '../platform/config.js';
import { ownerOf, type MemoryKind } from '../memories/owner.js';
import { validationError } from '../platform/errors.js';
import { objectSchema, shownAs } from '../platform/object-schema.js';
import { requireScope } from '../projects/permissions.js';
import { checkBudgetForModel, type Budget } from '../sessions/budget.js';
import { configurationFields, isTheModel, requireModel, requireSandbox } from '../sessions/configuration.js';
import { HAS_ENTRY } from '../sessions/configured.js';
import { configurationIdOf, type AgentOfSession } from '../sessions/agent-of-session.js';
import { agentSkillsSchema, requireAgentSkills } from './skills.js';
import { agentNotFound, findAgentState, versionNotFound } from './store.js';

const { model_id, thinking_enabled, instruction, fallback_model_ids } = configurationFields;

/** The fields that a session may have instead of its agent's. What the agent may do is not among them. */
export const overridesSchema = {
  $id: 'AgentOverrides',
  description: 'What the session has instead of these fields of the agent, whatever its version.',
  ...objectSchema({}, { model_id, thinking_enabled, instruction, fallback_model_ids, skills: agentSkillsSchema }),
} as const;

const id = { type: 'string', description: 'Id of the agent.' } as const;
const VERSION =
  'Which version: a number, or `live` for the one that is live when a turn begins. Without it, the one that is live now.';

const reference = {
  $id: 'AgentReference',
  description: 'A version of an agent, and what the session has instead of parts of it.',
  ...objectSchema(
    { id },
    {
      version: {
        $id: 'AgentVersionChoice',
        description: VERSION,
        anyOf: [
          {
            $id: 'AgentVersionNumber',
            description: 'Number of a version.',
            type: 'integer',
            format: 'int32',
            minimum: 1,
          },
          { $id: 'LiveVersion', description: 'The one that is live when a turn begins.', const: 'live' },
        ],
      },
      overrides: overridesSchema,
    },
  ),
} as const;

/** The agent of a session, in bodies. It is checked in one piece, so that an error has its place. */
export const referenceSchema = shownAs(
  {
    type: ['string', 'object'],
    description: 'The agent whose configuration the session has: its id, or a reference to a version.',
    properties: {
      id,
      version: { type: ['integer', 'string'], minimum: 1, pattern: '^live$', description: VERSION },
      overrides: overridesSchema,
    },
    required: ['id'],
    additionalProperties: false,
  } as const,
  {
    $id: 'AgentChoice',
    description: 'The agent whose configuration the session has: its id, or a reference to a version.',
    anyOf: [
      { $id: 'AgentId', description: 'Id of an agent: the version that is live now.', type: 'string' },
      reference,
    ],
  },
);

export type Reference =
  | string
  | { id: string; version?: number | string; overrides?: FromSchema<typeof overridesSchema> };

/** @throws ServiceError `insufficient_scope`. What the agent itself names needs no permission. */
export function checkReference(caller: { scopes: ReadonlySet<string> }, given: Reference): void {
  requireScope(caller, 'agents:read');
  if (overridesOf(given).skills?.length) requireScope(caller, 'skills:read');
}

function overridesOf(given: Reference): Overrides {
  return typeof given === 'string' ? {} : (given.overrides ?? {});
}

interface ReferenceDeps {
  db: Database | Tx;
  models: ModelCatalogue;
  config: Pick<Config, 'sandboxProvider'>;
}

/** A reference that was looked up, and the models of a turn that begins now. */
export interface ResolvedReference extends AgentOfSession {
  modelId: string;
  fallbackModelIds: string[];
  /** That of the model's price; null without a price. */
  currency: string | null;
}

/**
 * Finds the version of an agent and checks what the overrides name, with the rules of POST sessions.
 * @param user that of the session: the agent's memories may need one
 * @throws ServiceError `agent_not_found`, `agent_version_not_found`, `unknown_model`, `validation_error`, `skill_not_found`,
 * `workspace_unavailable`
 */
export async function resolveReference(
  deps: ReferenceDeps,
  projectId: string,
  given: Reference,
  user: string | null,
): Promise<ResolvedReference> {
  const { models, config } = deps;
  const { id, version: wanted } = typeof given === 'string' ? { id: given, version: undefined } : given;
  const agent = (await findAgentState(deps.db, projectId, id)) ?? agentNotFound();
  const number = typeof wanted === 'number' ? wanted : agent.live_version;
  if (number > agent.version) versionNotFound();
  const overrides = overridesOf(given);
  const configuration = (await findModels(deps.db, id, number))!;
  const { model_id: modelId = configuration.model_id, fallback_model_ids: fallbacks } = overrides;
  const { price } = requireModel(models, modelId);
  const same = fallbacks?.indexOf(modelId) ?? -1;
  if (same >= 0) throw isTheModel(`/agent/overrides/fallback_model_ids/${same}`);
  const fallbackModelIds = (fallbacks ?? configuration.fallback_model_ids).filter((fallback) => fallback !== modelId);
  for (const fallback of fallbackModelIds) requireModel(models, fallback);
  await requireAgentSkills(deps.db, projectId, overrides.skills ?? []);
  const { has_workspace: hasWorkspace, memories } = configuration;
  if (memories.some((of) => ownerOf(of, { projectId, user, agentId: id }) === null))
    throw validationError('/agent', 'has a memory of a user, so the session needs `user`');
  if (hasWorkspace) requireSandbox(config);
  const version = wanted === 'live' ? null : number;
  const currency = price?.currency ?? null;
  return { agentId: id, version, overrides, hasWorkspace, modelId, fallbackModelIds, currency };
}

interface ModelsOfVersion {
  model_id: string;
  fallback_model_ids: string[];
  has_workspace: boolean;
  /** Of which kinds it has memories. */
  memories: MemoryKind[];
}

async function findModels(db: Database | Tx, agentId: string, version: number): Promise<ModelsOfVersion | undefined> {
  const [found] = await runSql<ModelsOfVersion>(
    db,
    sql`SELECT model_id, fallback_model_ids, ${rawSql(HAS_ENTRY('workspace'))} AS has_workspace, ARRAY(
            SELECT entry->>'of' FROM json_array_elements(c.tools) AS entry WHERE entry->>'type' = 'memory') AS memories
        FROM configurations c WHERE id = ${configurationIdOf(agentId, version)}`,
  );
  return found;
}

/** Checks a budget with each model of a reference. @throws ServiceError `validation_error` */
export function checkBudgetForReference(
  models: ModelCatalogue,
  budget: Budget | null,
  { modelId, fallbackModelIds }: Pick<ResolvedReference, 'modelId' | 'fallbackModelIds'>,
): void {
  for (const id of [modelId, ...fallbackModelIds]) checkBudgetForModel(models, budget, id, '/agent');
}

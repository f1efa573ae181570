import type { FromSchema } from 'json-schema-to-ts';
import type { Database, Tx } from '../db/db.js';
import type { ModelCatalogue } from '../models/catalogue.js';
import type { Config } from '../platform/config.js';
import { validationError } from '../platform/errors.js';
import { newId } from '../platform/ids.js';
import { budgetSchema } from '../sessions/budget.js';
import {
  checkConfiguration,
  CONFIGURATION_FIELDS,
  configurationFieldsWithDefaults,
  lookUpConfiguration,
  requireModel,
  toOwnConfiguration,
  withDefaults,
} from '../sessions/configuration.js';
import { checkMemories } from '../sessions/check-tools.js';
import { MAX_METADATA_KEY_LENGTH, MAX_METADATA_PAIRS, MAX_METADATA_VALUE_LENGTH } from '../sessions/metadata.js';
import { insertSession, insertSessionOfAgent, type OwnConfiguration, type Session } from '../sessions/store.js';
import {
  checkBudgetForReference,
  checkReference,
  referenceSchema,
  resolveReference,
  type ResolvedReference,
} from './reference.js';

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
  description:
    'A session: its configuration, or the agent that has one. `model_id` or `agent` is required; the other fields of a configuration cannot be sent with `agent`. Only `metadata`, `budget` and the version of the agent can be changed later.',
  type: 'object',
  properties: {
    agent: referenceSchema,
    ...configurationFieldsWithDefaults,
    metadata: { ...newMetadataSchema, default: {} },
    budget: { ...budgetSchema, default: null },
    user: {
      type: ['string', 'null'],
      pattern: USER_PATTERN,
      default: null,
      description:
        'The signed-in person for whom the agent acts. MCP servers with `credentials: "user"` are called with the credential of this user. Your back end says who it is; the service does not check it.',
    },
  },
  additionalProperties: false,
  examples: [{ model_id: 'claude-sonnet-5-5', instruction: 'Answer in one sentence.', metadata: { customer: '4711' } }],
} as const;

export type NewSessionBody = FromSchema<typeof newSessionBody>;

/** A session that passed every check and can be inserted. */
type CheckedSession = Pick<NewSessionBody, 'metadata' | 'budget' | 'user'> &
  ({ agent: ResolvedReference } | { agent: null; configuration: OwnConfiguration; currency: string | null });

/**
 * Checks what needs no database: that the body has a configuration or an agent, the rules of `tools`, and the permissions for what the
 * body names. Returns the body with its defaults.
 * @throws ServiceError `validation_error`, `insufficient_scope`
 */
export async function checkNewSession(
  caller: { projectId: string; scopes: ReadonlySet<string> },
  body: NewSessionBody,
): Promise<NewSessionBody> {
  const { agent, model_id } = body;
  if (agent !== undefined) {
    const extra = CONFIGURATION_FIELDS.find((name) => body[name] !== undefined);
    if (extra !== undefined) throw validationError(`/${extra}`, 'cannot be sent with agent, which has its own');
    checkReference(caller, agent);
    return body;
  }
  if (model_id === undefined) throw validationError('/model_id', 'is required');
  const whole = withDefaults({ ...body, model_id });
  await checkConfiguration(caller, whole);
  checkMemories(whole.tools, { projectId: caller.projectId, user: body.user, agentId: null });
  return whole;
}

/**
 * Checks that everything the body names exists.
 * @throws ServiceError `agent_not_found`, `agent_version_not_found`, `unknown_model`, `mcp_server_not_found`, `unknown_mcp_tool`,
 * `skill_not_found`, `workspace_unavailable`, `validation_error`
 */
export async function resolveNewSession(
  deps: { db: Database | Tx; models: ModelCatalogue; config: Pick<Config, 'sandboxProvider'> },
  projectId: string,
  body: NewSessionBody,
): Promise<CheckedSession> {
  const { metadata, budget, user } = body;
  if (body.agent !== undefined) {
    const agent = await resolveReference(deps, projectId, body.agent, user);
    checkBudgetForReference(deps.models, budget, agent);
    return { agent, metadata, budget, user };
  }
  const whole = withDefaults({ ...body, model_id: body.model_id! });
  await lookUpConfiguration(deps, projectId, whole, budget);
  const configuration = await toOwnConfiguration(whole);
  const currency = requireModel(deps.models, whole.model_id).price?.currency ?? null;
  return { agent: null, configuration, currency, metadata, budget, user };
}

export function createSession(tx: Tx, projectId: string, checked: CheckedSession): Promise<Session> {
  const { metadata, budget, user } = checked;
  const session = { id: newId('session'), project_id: projectId, end_user: user, metadata, budget };
  if (checked.agent === null) {
    const { configuration, currency } = checked;
    return insertSession(tx, { ...session, currency, ...configuration });
  }
  return insertSessionOfAgent(tx, { ...session, currency: checked.agent.currency }, checked.agent);
}

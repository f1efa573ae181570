import type { FromSchema } from 'json-schema-to-ts';
import {
  checkBudgetForReference,
  checkReference,
  referenceSchema,
  resolveReference,
  type Reference,
  type ResolvedReference,
} from '../../src/agents/reference.js';
import type { Tx } from '../../src/db/db.js';
import { transaction } from '../../src/db/transaction.js';
import { validationError } from '../../src/platform/errors.js';
import { jsonHash } from '../../src/platform/json-hash.js';
import { described } from '../../src/platform/object-schema.js';
import {
  MAX_METADATA_KEY_LENGTH,
  MAX_METADATA_PATCH_KEYS,
  MAX_METADATA_VALUE_LENGTH,
  mergeMetadata,
} from '../../src/sessions/metadata.js';
import { isCopy } from '../../src/sessions/families.js';
import { budgetSchema, checkBudgetForSession } from '../../src/sessions/budget.js';
import { refuseChild } from '../../src/sessions/child-session.js';
import { MAX_REMEMBERED, remembersAny } from '../../src/sessions/remembered-approvals.js';
import {
  findSession,
  lockSession,
  updateFields,
  type Session,
  type SessionAgent,
  type SessionState,
} from '../../src/sessions/store.js';
import type { ApiDeps } from '../deps.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { presentSession, sessionSchema } from './present.js';
import { updateBudget } from './update-budget.js';
import { sessionNotFound, sessionStateOfPath } from '../http/core/session-of-path.js';

const body = {
  $id: 'SessionChange',
  description: 'Changes of a session. Fields that are absent stay.',
  type: 'object',
  properties: {
    metadata: {
      description:
        'JSON Merge Patch (RFC 7396): a value sets its key, null deletes it, absent keys stay. Usage keeps a copy of them for 90 days (USAGE_METADATA_DAYS), also of a deleted session: put in ids of yours, such as a customer’s number, and no names or addresses.',
      type: 'object',
      maxProperties: MAX_METADATA_PATCH_KEYS,
      propertyNames: { minLength: 1, maxLength: MAX_METADATA_KEY_LENGTH },
      additionalProperties: { type: ['string', 'null'], maxLength: MAX_METADATA_VALUE_LENGTH },
    },
    budget: { ...budgetSchema, description: 'Replaces the whole budget; null removes it.' },
    agent: described(
      referenceSchema,
      'Replaces the reference to an agent, from the next turn on; only in a session that was created with one.',
    ),
    forget_approvals: {
      type: 'array',
      items: { type: 'string' },
      maxItems: MAX_REMEMBERED,
      description:
        'Takes back remembered approvals: each `tool_use_id` is one of `remembered_approvals`; others change nothing.',
    },
  },
  minProperties: 1,
  additionalProperties: false,
  examples: [{ metadata: { customer: '4712', obsolete: null } }],
} as const satisfies JsonSchema;

export const updateSession = operation<FromSchema<typeof body>, SessionState>({
  id: 'updateSession',
  summary: "Change a session's metadata, budget and agent, or take remembered approvals back",
  description:
    'Merges `metadata`, replaces `budget` and `agent`, and takes back the approvals in `forget_approvals`; other fields of a session do not change. A larger budget lets a turn go on that waits for it. Another agent, or version of it, holds from the next turn on.',
  body,
  success: { status: 200, description: 'The changed session.', schema: sessionSchema },
  errors: [
    'insufficient_scope',
    'session_not_found',
    'child_session',
    'metadata_too_large',
    'agent_not_found',
    'agent_version_not_found',
    'unknown_model',
    'skill_not_found',
    'workspace_unavailable',
  ],
  resource: sessionStateOfPath,
  check({ caller, body }) {
    if (body.agent !== undefined) checkReference(caller, body.agent);
  },
  async handle({ deps, caller, resource, body, record, log }) {
    refuseChild(resource);
    const agent =
      body.agent === undefined ? undefined : await agentFor(deps, caller.projectId, resource.id, body.agent);
    const update = async (tx: Tx, locked: Session): Promise<Session> => {
      await record(tx);
      const metadata = mergeMetadata(locked.metadata, body.metadata ?? {});
      const { budget = locked.budget, forget_approvals: forgotten = [] } = body;
      if (body.budget !== undefined && (await isCopy(tx, locked.id)))
        throw validationError('/budget', 'is that of the session that this one is a copy of');
      if (agent !== undefined) checkBudgetForReference(deps.models, budget, agent);
      else if (body.budget !== undefined) checkBudgetForSession(deps.models, budget, locked);
      const isSameAgent = agent === undefined || isSameReference(agent, locked.agent!);
      const isUnchanged = isSame(metadata, locked.metadata) && isSame(budget, locked.budget) && isSameAgent;
      if (isUnchanged && !remembersAny(locked, forgotten)) return locked;
      return updateFields(tx, locked, { metadata, budget, ...(!isSameAgent && { agent }) }, forgotten);
    };
    if (body.budget !== undefined) {
      return presentSession(await updateBudget({ ...deps, log }, caller.projectId, resource.id, update));
    }
    return presentSession(
      await transaction(deps.db, async (tx) =>
        update(tx, (await lockSession(tx, caller.projectId, resource.id)) ?? sessionNotFound()),
      ),
    );
  },
});

/** @throws ServiceError `validation_error` if the session was made without an agent, and what `resolveReference` throws */
async function agentFor(
  deps: ApiDeps,
  projectId: string,
  sessionId: string,
  given: Reference,
): Promise<ResolvedReference> {
  const session = (await findSession(deps.db, projectId, sessionId)) ?? sessionNotFound();
  if (session.agent === null) {
    throw validationError('/agent', 'cannot be given to a session of its own configuration: fork it with `agent`');
  }
  return resolveReference(deps, projectId, given, session.end_user);
}

/** Of a deleted agent a session no longer follows, but new references to it are refused. */
function isSameReference({ agentId, version, overrides }: ResolvedReference, now: SessionAgent): boolean {
  const isSameVersion = version === null ? now.follows : !now.follows && version === now.version;
  return agentId === now.id && isSameVersion && jsonHash(overrides).equals(jsonHash(now.overrides));
}

/**
 * A patch that changes nothing does not change `updated_at`. Merging keeps the order of keys, so the JSON texts
 * compare.
 */
function isSame(a: object | null, b: object | null): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

import type { FromSchema } from 'json-schema-to-ts';
import {
  checkBudgetForReference,
  checkReference,
  referenceSchema,
  resolveReference,
} from '../../src/agents/reference.js';
import { validationError } from '../../src/platform/errors.js';
import { described } from '../../src/platform/object-schema.js';
import { MIB } from '../../src/platform/units.js';
import { checkBudgetForModel } from '../../src/sessions/budget.js';
import { requireForkModel, requireModel } from '../../src/sessions/configuration.js';
import { newMetadataSchema } from '../../src/agents/new-session.js';
import { findSession, type Session } from '../../src/sessions/store.js';
import {
  forkSession as copySession,
  type ForkFields,
  MAX_FORKED_BYTES,
  MAX_FORKED_EVENTS,
} from '../../src/turns/fork.js';
import { answerInTransaction } from '../http/core/idempotency.js';
import { operation, type Call } from '../http/core/operation.js';
import { sessionNotFound, sessionOfPath } from '../http/core/session-of-path.js';
import { createSession } from './create.js';
import { presentSession, sessionExample, sessionSchema } from './present.js';

const body = {
  $id: 'NewFork',
  description:
    'Where to fork, and what the new session has of its own. Without a turn, all turns that ended are copied.',
  type: 'object',
  properties: {
    before_turn_id: {
      type: 'string',
      description: 'Copy the turns before this one, which may be open: the place to send an edited message.',
    },
    after_turn_id: { type: 'string', description: 'Copy the turns up to and with this one, which must have ended.' },
    metadata: {
      ...newMetadataSchema,
      description: 'Your own pairs of texts, in place of those of the session.',
    },
    model_id: {
      type: 'string',
      description: 'The model of the new session, an id of GET /v1/models; without it, that of the session.',
    },
    agent: described(referenceSchema, 'The agent of the new session, in place of what the session has.'),
  },
  additionalProperties: false,
  examples: [{ before_turn_id: 'turn_01kag8z0d4k7q2r9t5y8h3j6m1' }],
} as const;

type Body = FromSchema<typeof body>;

export const forkSession = operation<Body, Session>({
  id: 'forkSession',
  summary: 'Fork a session: copy its turns into a new one',
  description: `To edit a message, ask again or try another model: fork before the turn, and send the message to the new session. The copy has the session’s configuration, its turns and what the model sees; no tool runs, and its cost begins at 0. At most ${MAX_FORKED_EVENTS} events and ${MAX_FORKED_BYTES / MIB} MiB of rows.`,
  body,
  optionalBody: true,
  idempotent: true,
  rateLimit: createSession.id,
  success: {
    status: 201,
    description: 'The new session.',
    schema: sessionSchema,
    example: {
      ...sessionExample,
      cost: { amount: '0', currency: 'USD' },
      forked_from: {
        session_id: 'ses_01kag8w2n5b7v9c1x3z5l7k9j1',
        turn_id: 'turn_01kag8x0p2o4i6u8y1t3r5e7w9',
        workspace: null,
      },
    },
  },
  errors: [
    'session_not_found',
    'turn_not_found',
    'session_running',
    'insufficient_scope',
    'agent_not_found',
    'agent_version_not_found',
    'unknown_model',
    'skill_not_found',
    'workspace_unavailable',
    'fork_too_large',
    'storage_limit_reached',
    'too_many_requests',
  ],
  resource: sessionOfPath,
  check({ caller, body: { before_turn_id, after_turn_id, model_id, agent } }) {
    if (before_turn_id !== undefined && after_turn_id !== undefined) {
      throw validationError('/after_turn_id', 'cannot be combined with before_turn_id: send one of them');
    }
    if (agent === undefined) return;
    if (model_id !== undefined)
      throw validationError('/model_id', 'cannot be combined with agent: put it into overrides');
    checkReference(caller, agent);
  },
  async handle(call) {
    const { deps, resource: session, body } = call;
    const point = { beforeTurnId: body.before_turn_id, afterTurnId: body.after_turn_id };
    const fields = { ...(await configurationOf(call)), metadata: body.metadata };
    const fork = (): Promise<unknown> =>
      answerInTransaction(call, async (tx) => {
        const id = await copySession(tx, session, point, fields, deps.config.maxStoragePerProject);
        return presentSession((await findSession(tx, session.project_id, id)) ?? sessionNotFound());
      });
    return deps.longWrites.within(session.project_id, call.ctx.res, fork);
  },
});

/** What the new session has instead of the configuration or the reference of the session; nothing if the body names neither. */
async function configurationOf({
  deps,
  resource: session,
  body,
}: Call<Body, Session>): Promise<Omit<ForkFields, 'metadata'>> {
  const { models } = deps;
  const { model_id, agent: given } = body;
  if (given !== undefined) {
    const agent = await resolveReference(deps, session.project_id, given);
    checkBudgetForReference(models, session.budget, agent);
    return { agent };
  }
  if (model_id === undefined) return {};
  if (session.agent === null) return { model: requireForkModel(models, session, model_id) };
  const { id: agentId, version: number, follows, overrides } = session.agent;
  if (overrides.fallback_model_ids?.includes(model_id)) {
    throw validationError('/model_id', 'is a fallback model of the session: fork with another one');
  }
  const { price } = requireModel(models, model_id);
  checkBudgetForModel(models, session.budget, model_id, '/model_id');
  const version = follows ? null : number;
  return { agent: { agentId, version, overrides: { ...overrides, model_id }, currency: price?.currency ?? null } };
}

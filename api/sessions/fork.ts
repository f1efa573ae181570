import type { FromSchema } from 'json-schema-to-ts';
import {
  checkBudgetForReference,
  checkReference,
  referenceSchema,
  resolveReference,
} from '../../src/agents/reference.js';
import { ServiceError, validationError } from '../../src/platform/errors.js';
import { described } from '../../src/platform/object-schema.js';
import { MIB } from '../../src/platform/units.js';
import { checkBudgetForModel } from '../../src/sessions/budget.js';
import { requireForkModel, requireModel } from '../../src/sessions/configuration.js';
import { newMetadataSchema } from '../../src/agents/new-session.js';
import { jsonText } from '../../src/platform/json-text.js';
import { refuseToken } from '../../src/projects/permissions.js';
import type { SessionToken } from '../../src/projects/session-token.js';
import { isCopyOf } from '../../src/sessions/families.js';
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
import { hideFromToken, presentSession, sessionExample, sessionSchema } from './present.js';
import { presentToken, tokenSchema } from './session-token.js';

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

const forkedSchema = {
  ...sessionSchema,
  $id: 'ForkedSession',
  description: 'The copy of a session.',
  properties: {
    ...(sessionSchema as { properties: object }).properties,
    token: described(
      tokenSchema,
      'Only for a request with a session token: a token for the copy, with its scopes, actor and end.',
    ),
  },
};

/** What a session token may ask for: the copy is otherwise as its session. */
const FIELDS_OF_TOKENS = ['before_turn_id', 'after_turn_id'];

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
    schema: forkedSchema,
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
    'fork_limit_reached',
    'insufficient_scope',
    'idempotency_key_reused',
    'storage_limit_reached',
    'too_many_requests',
  ],
  resource: sessionOfPath,
  check({ caller, body }) {
    const { before_turn_id, after_turn_id, model_id, agent } = body;
    if (before_turn_id !== undefined && after_turn_id !== undefined) {
      throw validationError('/after_turn_id', 'cannot be combined with before_turn_id: send one of them');
    }
    if (caller.token !== null && Object.keys(body).some((field) => !FIELDS_OF_TOKENS.includes(field)))
      refuseToken('sessions:write');
    if (agent === undefined) return;
    if (model_id !== undefined)
      throw validationError('/model_id', 'cannot be combined with agent: put it into overrides');
    checkReference(caller, agent);
  },
  async replay(call, recorded) {
    const fork = recorded as ShownSession;
    const { deps, caller, resource } = call;
    if (caller.token === null) return fork;
    // A key has made it: it has its own limits, and no token of this session may enter it.
    if (!(await isCopyOf(deps.db, fork.id, resource.id))) throw madeByKey();
    return shownTo(call, fork);
  },
  async handle(call) {
    const { deps, resource: session, body } = call;
    const point = { beforeTurnId: body.before_turn_id, afterTurnId: body.after_turn_id };
    const byToken = call.caller.token !== null;
    const fields = { ...(await configurationOf(call)), metadata: body.metadata, byToken };
    const fork = (): Promise<object> =>
      answerInTransaction(call, async (tx) => {
        const id = await copySession(tx, session, point, fields, deps.config.maxStoragePerProject);
        return presentSession((await findSession(tx, session.project_id, id)) ?? sessionNotFound());
      });
    const made = await deps.longWrites.within(session.project_id, call.ctx.res, fork);
    return call.caller.token === null ? made : shownTo(call, JSON.parse(jsonText(made)) as ShownSession);
  },
});

/** What the new session has instead of the configuration or the reference of the session; nothing if the body names neither. */
async function configurationOf({
  deps,
  resource: session,
  body,
}: Call<Body, Session>): Promise<Omit<ForkFields, 'metadata' | 'byToken'>> {
  const { models } = deps;
  const { model_id, agent: given } = body;
  if (given !== undefined) {
    const agent = await resolveReference(deps, session.project_id, given, session.end_user);
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

type ShownSession = Record<string, unknown> & { id: string };

/** The copy for whoever asks: a session token gets its own one for it, which no record of the answer has. */
function shownTo({ deps, caller }: Pick<Call, 'deps' | 'caller'>, fork: ShownSession): object {
  const token: SessionToken = { ...caller.token!, sessionId: fork.id };
  return { ...hideFromToken(fork), token: presentToken(deps, token) };
}

function madeByKey(): ServiceError {
  return new ServiceError('idempotency_key_reused', 'The Idempotency-Key was used by a key. Use a new one.');
}

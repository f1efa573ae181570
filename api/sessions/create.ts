import { requireStorage } from '../../src/files/storage-limit.js';
import {
  checkNewSession,
  createSession as insertNewSession,
  newSessionBody,
  resolveNewSession,
  type NewSessionBody,
} from '../../src/agents/new-session.js';
import { answerInTransaction } from '../http/core/idempotency.js';
import { operation } from '../http/core/operation.js';
import { presentSession, sessionExample, sessionSchema } from './present.js';

/** 64 tools with schemas of 1,500 values each. */
const MAX_SESSION_VALUES = 100_000;

/** What the example of the request makes: the rest are the defaults. */
const newSessionExample = {
  ...sessionExample,
  ...newSessionBody.examples[0],
  ...{
    agent: null,
    status: 'IDLE',
    preview: null,
    last_turn_id: null,
    turn_count: 0,
    updated_at: sessionExample.created_at,
  },
  ...{ fallback_model_ids: [], budget: null, cost: { amount: '0', currency: 'USD' } },
};

export const createSession = operation<NewSessionBody>({
  id: 'createSession',
  summary: 'Create a session',
  description:
    'Begins a conversation, with a configuration of its own, which is checked now and stays, or with that of an agent; then send messages.',
  body: newSessionBody,
  maxBodyValues: MAX_SESSION_VALUES,
  idempotent: true,
  success: {
    status: 201,
    description: 'The session, IDLE.',
    schema: sessionSchema,
    example: newSessionExample,
  },
  errors: [
    'insufficient_scope',
    'agent_not_found',
    'agent_version_not_found',
    'unknown_model',
    'mcp_server_not_found',
    'unknown_mcp_tool',
    'skill_not_found',
    'workspace_unavailable',
    'storage_limit_reached',
  ],
  async check({ caller, body }) {
    await checkNewSession(caller, body);
  },
  async handle(call) {
    const { projectId } = call.caller;
    await requireStorage(call.deps.db, projectId, call.deps.config.maxStoragePerProject);
    const checked = await resolveNewSession(call.deps, projectId, call.body);
    return answerInTransaction(call, async (tx) => presentSession(await insertNewSession(tx, projectId, checked)));
  },
});

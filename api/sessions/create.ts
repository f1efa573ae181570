import { transaction } from '../../src/db/transaction.js';
import {
  checkNewSession,
  createSession as insertNewSession,
  newSessionBody,
  resolveNewSession,
  type NewSessionBody,
} from '../../src/sessions/new-session.js';
import { operation } from '../http/core/operation.js';
import { presentSession, sessionSchema } from './present.js';

/** 64 tools with schemas of 1,500 values each. */
const MAX_SESSION_VALUES = 100_000;

export const createSession = operation<NewSessionBody>({
  id: 'createSession',
  summary: 'Create a session',
  body: newSessionBody,
  maxBodyValues: MAX_SESSION_VALUES,
  idempotent: true,
  success: { status: 201, description: 'The session, IDLE.', schema: sessionSchema },
  errors: ['insufficient_scope', 'unknown_model', 'mcp_server_not_found', 'unknown_mcp_tool'],
  check: ({ caller, body }) => checkNewSession(caller, body),
  async handle({ deps, caller, body, record }) {
    const checked = await resolveNewSession(deps, caller.projectId, body);
    return transaction(deps.db, async (tx) => {
      const answer = presentSession(await insertNewSession(tx, caller.projectId, checked));
      await record(tx, answer);
      return answer;
    });
  },
});

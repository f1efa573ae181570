import { transaction } from '../../src/db/transaction.js';
import { turnContinuedSchema } from '../../src/events/schema.js';
import { eventJson } from '../../src/events/store.js';
import { checkStorage } from '../../src/files/storage-limit.js';
import { continueTurn } from '../../src/turns/continue.js';
import { launchTurn } from '../../src/turns/begin.js';
import { refuseChild } from '../../src/sessions/child-session.js';
import { operation } from '../http/core/operation.js';
import { openSessionOfPath } from '../http/core/session-of-path.js';
import { sendMessage } from './send-message.js';

export const continueSessionTurn = operation({
  id: 'continueTurn',
  summary: 'Continue a turn that did not complete',
  description:
    'Starts a new turn that goes on after the last stored step of the session’s last turn, which failed, was cancelled or reached the budget. The session’s field `continuable` says whether that is possible.',
  idempotent: true,
  rateLimit: sendMessage.id,
  success: {
    status: 201,
    description: 'The turn.continued event; turn_id is the id of the new turn.',
    schema: turnContinuedSchema,
    example: {
      id: 'evt_01kag90a1b2c3d4e5f6g7h8j9k',
      type: 'turn.continued',
      turn_id: 'turn_01kag90a0z9y8x7w6v5t4s3r2q',
      created_at: '2026-11-21T09:50:00.000001Z',
      continues_turn_id: 'turn_01kag8z0d4k7q2r9t5y8h3j6m1',
    },
  },
  errors: [
    'session_not_found',
    'child_session',
    'session_running',
    'turn_not_continuable',
    'too_many_running_turns',
    'storage_limit_reached',
  ],
  resource: openSessionOfPath,
  async handle({ deps, caller, resource: session, record, log }) {
    refuseChild(session);
    checkStorage(session.stored, deps.config.maxStoragePerProject);
    const { turn, response } = await transaction(deps.db, async (tx) => {
      const { namespace } = deps.workflows;
      const turn = await continueTurn(tx, deps.models, caller.projectId, session.id, { namespace, sentBy: caller });
      const response: unknown = JSON.parse(eventJson(turn.event));
      await record(tx, response);
      return { turn, response };
    });
    launchTurn({ ...deps, log }, turn);
    return response;
  },
});

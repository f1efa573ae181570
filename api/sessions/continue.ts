import { transaction } from '../../src/db/transaction.js';
import { turnContinuedSchema } from '../../src/events/schema.js';
import { eventJson } from '../../src/events/store.js';
import { continueTurn } from '../../src/turns/continue.js';
import { launchTurn } from '../../src/turns/launch.js';
import { operation } from '../http/core/operation.js';
import { sessionOfPath } from '../http/core/session-of-path.js';
import { sendMessage } from './send-message.js';

export const continueSessionTurn = operation({
  id: 'continueTurn',
  summary: 'Continue a turn that did not complete',
  idempotent: true,
  rateLimit: sendMessage.id,
  success: {
    status: 201,
    description: 'The turn.continued event; turn_id is the id of the new turn.',
    schema: turnContinuedSchema,
  },
  errors: ['session_not_found', 'session_running', 'turn_not_continuable', 'too_many_running_turns'],
  resource: sessionOfPath,
  async handle({ deps, caller, resource: session, record, log }) {
    const { turn, response } = await transaction(deps.db, async (tx) => {
      const turn = await continueTurn(tx, caller.projectId, session.id, deps.workflows.namespace);
      const response: unknown = JSON.parse(eventJson(turn.event));
      await record(tx, response);
      return { turn, response };
    });
    launchTurn({ ...deps, log }, turn);
    return response;
  },
});

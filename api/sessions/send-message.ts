import { transaction, type Db } from '../../src/db/transaction.js';
import { userMessageSchema } from '../../src/events/schema.js';
import { eventJson } from '../../src/events/store.js';
import { checkMessage, launchTurn, messageBody, resolveMessage, type MessageBody } from '../../src/messages/message.js';
import type { Session } from '../../src/sessions/store.js';
import { queueTurn, type QueuedTurn } from '../../src/turns/queue.js';
import { operation } from '../http/core/operation.js';
import { sessionOfPath } from '../http/core/session-of-path.js';

/** Sends a message, which starts a turn. Responds as soon as the turn is queued. */
export const sendMessage = operation<MessageBody, Session>({
  id: 'sendMessage',
  summary: 'Send a message; it starts a turn',
  body: messageBody,
  idempotent: true,
  success: { status: 201, description: 'The user.message event; its turn_id is the turn.', schema: userMessageSchema },
  errors: [
    'session_not_found',
    'insufficient_scope',
    'file_not_found',
    'skill_not_found',
    'session_running',
    'too_many_running_turns',
  ],
  resource: sessionOfPath,
  check: ({ caller, body }) => checkMessage(caller, body),
  async handle(call) {
    const { deps, caller, body, resource: session } = call;
    const message = await resolveMessage(deps.db, caller.projectId, body);
    const queue = async (db: Db): Promise<QueuedTurn> => {
      const turn = await queueTurn(db, caller.projectId, session.id, message, deps.workflows.namespace);
      await call.record(db, present(turn));
      return turn;
    };
    // Queueing is a single atomic statement. With an idempotency record there are two, which need a transaction.
    const turn = call.hasKey ? await transaction(deps.db, queue) : await queue(deps.db);
    launchTurn({ ...deps, log: call.log }, { ...turn, mayWait: session.tools !== '[]' });
    return present(turn);
  },
});

function present({ event }: QueuedTurn): unknown {
  return JSON.parse(eventJson(event));
}

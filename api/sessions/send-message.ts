import type { FromSchema } from 'json-schema-to-ts';
import { userMessageSchema } from '../../src/events/schema.js';
import { eventJson } from '../../src/events/store.js';
import { acceptMessage, type Accepted } from '../../src/messages/accept.js';
import { checkMessage, checkTokenMessage, messageBody, resolveMessage } from '../../src/messages/message.js';
import { JsonText } from '../../src/platform/json-text.js';
import { launchTurn } from '../../src/turns/begin.js';
import { checkStorage, type StoredBytes } from '../../src/files/storage-limit.js';
import type { WaitingMessage } from '../../src/messages/queue.js';
import { refuseChild } from '../../src/sessions/child-session.js';
import type { SessionState } from '../../src/sessions/store.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { sessionOfPath, openSessionOfPath } from '../http/core/session-of-path.js';

const body = {
  ...messageBody,
  $id: 'NewMessage',
  properties: {
    ...messageBody.properties,
    when_running: {
      $id: 'WhenRunning',
      type: 'string',
      enum: ['reject', 'queue', 'steer'],
      default: 'reject',
      description:
        'What to do while a turn is open. reject: 409; queue: the message starts its own turn afterwards; steer: the open turn’s next model call gets it.',
    },
  },
  examples: [{ content: 'Which orders are late?' }],
} as const satisfies JsonSchema;

type Body = FromSchema<typeof body>;

export const sendMessage = operation<Body, SessionState & { stored: StoredBytes }>({
  id: 'sendMessage',
  summary: 'Send a message: it starts a turn, or waits while one is open',
  description:
    'Starts a turn of the agent and answers at once with the `user.message` event; its `turn_id` names the turn. Follow the turn with the stream, or read it later. While a turn is open, `when_running` decides what happens.',
  body,
  idempotent: true,
  success: {
    status: 201,
    description: 'The user.message event; turn_id is the id of its turn. If it has `state`, the message waits.',
    schema: userMessageSchema,
  },
  errors: [
    'session_not_found',
    'child_session',
    'insufficient_scope',
    'unknown_model',
    'file_not_found',
    'skill_not_found',
    'session_running',
    'queue_full',
    'too_many_running_turns',
    'storage_limit_reached',
  ],
  resource: openSessionOfPath,
  async check({ deps, caller, body }) {
    if (caller.token !== null) checkTokenMessage(caller.token, body);
    await checkMessage(deps, caller, body);
  },
  async handle(call) {
    const { deps, caller, body, resource: session, log } = call;
    refuseChild(session);
    checkStorage(session.stored, deps.config.maxStoragePerProject);
    // The budget decides whether another model needs a price.
    const ofBudget = body.model_id === undefined ? null : await sessionOfPath(call);
    const message = await resolveMessage(deps, caller.projectId, body, ofBudget, caller.token?.sessionId ?? null);
    const accepted = await acceptMessage({ ...deps, log }, session, message, body.when_running, {
      record: (tx, one) => call.record(tx, present(one)),
      sentBy: caller,
    });
    if (accepted.started !== null) launchTurn({ ...deps, log }, accepted.started);
    return present(accepted);
  },
});

function present(accepted: Accepted): object {
  if (accepted.waits !== null) return presentWaiting(accepted.waits);
  return new JsonText(eventJson(accepted.started.event));
}

/** Its event, and `state`. The content goes out as it is stored: a page of the queue has up to 4 MiB of it. */
export function presentWaiting({ state, ...row }: WaitingMessage): JsonText {
  const event = eventJson({ ...row, type: 'user.message' });
  return new JsonText(`${event.slice(0, -1)},"state":${JSON.stringify(state)}}`);
}

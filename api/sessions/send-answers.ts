import { objectSchema } from '../../src/platform/object-schema.js';
import type { FromSchema } from 'json-schema-to-ts';
import { validationError } from '../../src/platform/errors.js';
import { actionsAnswered } from '../../src/platform/metrics.js';
import { answerEventSchema } from '../../src/events/schema.js';
import { eventJson, type EventRow } from '../../src/events/store.js';
import type { SessionState } from '../../src/sessions/store.js';
import { notifyAnswers } from '../../src/answers/answer-watch.js';
import { storeAnswers, type Answer } from '../../src/answers/answer.js';
import { signalAnswers } from '../../src/turns/signal-answers.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { sessionStateOfPath } from '../http/core/session-of-path.js';
import { sendMessage } from './send-message.js';

const MAX_EVENTS = 50;
const toolUseId = { type: 'string', description: 'A tool_use_id in required_actions.' } as const;
const actor = {
  type: 'string',
  minLength: 1,
  maxLength: 128,
  description: 'Who decided: any text, stored in the event.',
} as const;

const body = {
  type: 'object',
  properties: {
    events: {
      type: 'array',
      minItems: 1,
      maxItems: MAX_EVENTS,
      items: {
        type: 'object',
        required: ['type'],
        discriminator: { propertyName: 'type' },
        oneOf: [
          {
            title: 'user.tool_confirmation',
            properties: {
              type: { const: 'user.tool_confirmation' },
              tool_use_id: toolUseId,
              result: { type: 'string', enum: ['allow', 'deny'] },
              deny_message: {
                type: ['string', 'null'],
                maxLength: 1000,
                description: 'Only with deny: a message for the agent.',
              },
              actor,
            },
            required: ['type', 'tool_use_id', 'result'],
            additionalProperties: false,
          },
          {
            title: 'user.custom_tool_result',
            properties: {
              type: { const: 'user.custom_tool_result' },
              tool_use_id: toolUseId,
              content: { type: 'string', maxLength: 100_000 },
              is_error: { type: 'boolean' },
              actor,
            },
            required: ['type', 'tool_use_id', 'content'],
            additionalProperties: false,
          },
          {
            title: 'user.elicitation_result',
            properties: {
              type: { const: 'user.elicitation_result' },
              elicitation_id: toolUseId,
              action: { type: 'string', enum: ['accept', 'decline', 'cancel'] },
              content: {
                type: ['object', 'null'],
                additionalProperties: true,
                description: 'Only with accept of a form: it has to fit requested_schema.',
              },
              actor,
            },
            required: ['type', 'elicitation_id', 'action'],
            additionalProperties: false,
          },
        ],
      },
    },
  },
  required: ['events'],
  additionalProperties: false,
  examples: [{ events: [{ type: 'user.tool_confirmation', tool_use_id: 'toolu_01', result: 'allow' }] }],
} as const satisfies JsonSchema;

type Body = FromSchema<typeof body>;

/** Answers waiting calls: all answers are stored, or none. */
export const sendAnswers = operation<Body, SessionState>({
  id: 'sendAnswers',
  summary: 'Answer tool calls that wait for a person or the client',
  body,
  idempotent: true,
  rateLimit: sendMessage.id,
  success: {
    status: 201,
    description: 'The stored events, one for each answer.',
    schema: objectSchema({ items: { type: 'array', items: answerEventSchema } }),
  },
  errors: [
    'session_not_found',
    'tool_use_not_found',
    'tool_use_not_pending',
    'elicitation_not_found',
    'elicitation_not_pending',
  ],
  resource: sessionStateOfPath,
  async handle({ deps, body, resource: session, record, log }) {
    const answers = body.events.map(toAnswer);
    const { events, turnId, stored } = await storeAnswers({ ...deps, log }, session.id, answers, (db, rows) =>
      record(db, present(rows)),
    );
    for (const answer of stored) actionsAnswered.inc({ answer: nameOf(answer) });
    if (turnId !== null) {
      await notifyAnswers(deps.db, stored);
      log.info({ turn_id: turnId, session_id: session.id, answers: stored.length }, 'answers stored');
      signalAnswers({ ...deps, log }, turnId);
    }
    return present(events);
  },
});

function present(events: EventRow[]): unknown {
  return { items: events.map((event) => JSON.parse(eventJson(event)) as unknown) };
}

function toAnswer(event: Body['events'][number], index: number): Answer {
  if (event.type === 'user.elicitation_result') {
    const { type, elicitation_id, action, content = null, actor = null } = event;
    return { type, data: { elicitation_id, action, content, actor } };
  }
  if (event.type === 'user.custom_tool_result') {
    const { type, tool_use_id, content, is_error = false, actor = null } = event;
    return { type, data: { tool_use_id, content, is_error, actor } };
  }
  const { type, tool_use_id, result, deny_message = null, actor = null } = event;
  if (result === 'allow' && deny_message !== null) {
    throw validationError(`/events/${index}/deny_message`, 'is allowed only with the result deny');
  }
  return { type, data: { tool_use_id, result, deny_message, actor } };
}

function nameOf({ type, data }: Answer): string {
  if (type === 'user.elicitation_result') return data.action;
  return type === 'user.custom_tool_result' ? 'result' : data.result;
}

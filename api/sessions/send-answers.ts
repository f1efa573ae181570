import type { FromSchema } from 'json-schema-to-ts';
import { validationError } from '../../src/platform/errors.js';
import { actionsAnswered } from '../../src/platform/metrics.js';
import { eventJson, type EventRow } from '../../src/events/store.js';
import { JsonText } from '../../src/platform/json-text.js';
import type { SessionState } from '../../src/sessions/store.js';
import { requireInputSize } from '../../src/waits/changed-input.js';
import { notifyAnswers } from '../../src/waits/watch.js';
import { storeAnswers, type UserAnswer } from '../../src/waits/answer.js';
import { signalAnswers } from '../../src/waits/signal-answers.js';
import { requireScope } from '../../src/projects/permissions.js';
import type { SessionToken } from '../../src/projects/session-token.js';
import { operation } from '../http/core/operation.js';
import { sessionStateOfPath } from '../http/core/session-of-path.js';
import { newAnswersBody, storedAnswersSchema } from './answer-fields.js';
import { sendMessage } from './send-message.js';

type Body = FromSchema<typeof newAnswersBody>;
type Answer = Body['events'][number];

/** Answers waiting calls: all answers are stored, or none. */
export const sendAnswers = operation<Body, SessionState>({
  id: 'sendAnswers',
  summary: 'Answer tool calls that wait for a person or the client',
  description:
    'Answers what `required_actions` of the session lists: allow or deny a call, give the result of a custom tool, or answer a question of an MCP server. All answers are stored, or none; the turn goes on when nothing is missing. To allow or deny a call, the key also needs the permission `approvals:write`.',
  body: newAnswersBody,
  exactNumbers: true,
  idempotent: true,
  rateLimit: sendMessage.id,
  success: {
    status: 201,
    description: 'The stored events, one for each answer.',
    schema: storedAnswersSchema,
  },
  errors: [
    'insufficient_scope',
    'not_an_approver',
    'session_not_found',
    'tool_use_not_found',
    'tool_use_not_pending',
    'elicitation_not_found',
    'elicitation_not_pending',
  ],
  resource: sessionStateOfPath,
  check({ caller, body }) {
    if (body.events.some(({ type }) => type === 'user.tool_confirmation')) requireScope(caller, 'approvals:write');
    const named = body.events.findIndex(({ actor }) => actor !== undefined);
    if (caller.token !== null && named >= 0) {
      throw validationError(
        `/events/${named}/actor`,
        'is not allowed with a session token, which names the actor itself',
      );
    }
  },
  async handle({ deps, caller, body, resource: session, record, audit, log, ctx }) {
    const { token, approverGroups, actor } = caller;
    const exact = ctx.state.exactBody as Body;
    const events = token === null ? body.events : body.events.map((event) => ({ ...event, ...actorOf(token) }));
    const answers = events.map((event, index) => toAnswer(withExactInput(event, exact.events[index]!), index));
    const {
      events: rows,
      turnId,
      stored,
    } = await storeAnswers({ ...deps, log }, session, { answers, approverGroups }, async (tx, kept, fresh) => {
      for (const answer of fresh) {
        if (answer.type === 'user.tool_confirmation')
          audit.enter(tx, { actor: answer.data.actor ?? actor, details: entryOf(answer) });
      }
      await record(tx, present(kept));
    });
    for (const answer of stored) actionsAnswered.inc({ answer: nameOf(answer) });
    if (turnId !== null) {
      await notifyAnswers(deps.db, stored);
      log.info({ turn_id: turnId, session_id: session.id, answers: stored.length }, 'answers stored');
      signalAnswers({ ...deps, log }, turnId);
    }
    return present(rows);
  },
});

/** What the log has of a decision. */
function entryOf({
  type,
  data: { tool_use_id, result },
}: Extract<UserAnswer, { type: 'user.tool_confirmation' }>): object {
  return { type, tool_use_id, result };
}

function actorOf({ actor }: SessionToken): { actor?: string } {
  return actor === null ? {} : { actor };
}

/** The body with its defaults, and an input whose numbers have all their digits. */
function withExactInput(event: Answer, exact: Answer): Answer {
  if (event.type !== 'user.tool_confirmation' || exact.type !== event.type) return event;
  return { ...event, ...(exact.input !== undefined && { input: exact.input }) };
}

/** The events as they are stored: an input has all digits of its numbers. */
function present(events: EventRow[]): JsonText {
  return new JsonText(`{"items":[${events.map(eventJson).join(',')}]}`);
}

function toAnswer(event: Answer, index: number): UserAnswer {
  if (event.type === 'user.elicitation_result') {
    const { type, elicitation_id, action, content = null, actor = null } = event;
    return { type, data: { elicitation_id, action, content, actor } };
  }
  if (event.type === 'user.custom_tool_result') {
    const { type, tool_use_id, content, is_error = false, actor = null } = event;
    return { type, data: { tool_use_id, content, is_error, actor } };
  }
  const { type, tool_use_id, result, deny_message = null, input = null, remember = null, actor = null } = event;
  const path = `/events/${index}`;
  if (result === 'allow' && deny_message !== null) {
    throw validationError(`${path}/deny_message`, 'is allowed only with the result deny');
  }
  if (result === 'deny') {
    if (input !== null) throw validationError(`${path}/input`, 'is allowed only with the result allow');
    if (remember !== null) throw validationError(`${path}/remember`, 'is allowed only with the result allow');
  }
  if (input !== null) requireInputSize(input, `${path}/input`);
  return { type, data: { tool_use_id, result, deny_message, input, remember, actor } };
}

function nameOf({ type, data }: UserAnswer): string {
  if (type === 'user.elicitation_result') return data.action;
  return type === 'user.custom_tool_result' ? 'result' : data.result;
}

import { money, usage } from '../../src/events/fields.js';
import { described, objectSchema } from '../../src/platform/object-schema.js';
import { count, flag, idField, text, timestamp, timestampOrNull } from '../../src/platform/schema-fields.js';
import { invalidCursor, pageOf } from '../../src/platform/page.js';
import type { RequiredAction } from '../../src/events/required-action.js';
import { readTimeline, type TimelineRow } from '../../src/turns/timeline.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { isTimestamp, pageRequest, pageSchema } from '../http/core/page.js';
import { turnOfPath } from './turn-of-path.js';

const ACTIONS: Record<RequiredAction['type'], true> = {
  tool_confirmation: true,
  custom_tool_result: true,
  mcp_authorization: true,
  budget: true,
  elicitation: true,
};

const callError = {
  $id: 'ModelCallError',
  description: 'Why a model call failed. The turn may have gone on with another one.',
  ...objectSchema({
    type: described(text, 'The kind of failure, as in the error of a turn.'),
    message: described(text, 'An explanation for people. It may change.'),
    retryable: described(flag, 'True if the same call may succeed later.'),
  }),
} as const;

const entry = {
  $id: 'TimelineEntry',
  description: 'A part of a turn with its begin and end. Fields that do not apply to its type are left out.',
  ...objectSchema(
    {
      type: {
        $id: 'TimelineEntryType',
        type: 'string',
        enum: ['queued', 'connect', 'model_call', 'tool_call', 'wait'],
        description:
          '`queued`: until a worker began the turn. `connect`: connecting to the session’s MCP servers. `model_call`: one request to a model. `tool_call`: a tool that ran. `wait`: for an answer, for a larger budget, or until the time of an `agent.wait`.',
      },
      started_at: described(timestamp, 'When it began.'),
      ended_at: described(timestampOrNull, 'When it ended; null while it is running.'),
      status: {
        $id: 'TimelineEntryStatus',
        type: 'string',
        enum: ['running', 'ok', 'failed', 'cancelled'],
        description:
          '`failed` also for a tool’s error, a server that could not be connected, and a wait that expired. `cancelled`: the end of the turn broke it off.',
      },
    },
    {
      name: described(
        text,
        'Of the tool, as the model sees it: of a `tool_call`, and of the call that a `wait` is for.',
      ),
      step: described(count, 'Number of the step in the turn, from 1: a model call and the tools that it calls.'),
      message_id: idField('message', 'Of a `model_call`: the `message_id` of the events with its answer.'),
      model_id: described(text, 'Of a `model_call`: the model.'),
      attempt: described(count, 'Of a `model_call`: its number among the calls of its step, from 1.'),
      first_token_ms: described(count, 'Of a `model_call`: milliseconds from its begin to its first output.'),
      usage: described(usage, 'Of a `model_call`: its tokens, as far as they are known.'),
      cost: described(money, 'Of a `model_call`: what it cost. Left out if the model has no price.'),
      error: described(callError, 'Of a `model_call` that failed.'),
      tool_use_id: described(text, 'Of a `tool_call`, and of the call that a `wait` is for.'),
      mcp_server_id: idField('mcpServer', 'Of a `tool_call`: the MCP server of the tool.'),
      session_id: idField('session', 'Of a `tool_call` of another agent: the child session in which it works.'),
      turn_id: idField('turn', 'Of a `tool_call` of another agent: its turn there.'),
      action: {
        $id: 'RequiredActionType',
        type: 'string',
        enum: Object.keys(ACTIONS),
        description: 'Of a `wait` for an answer or a larger budget: the type of the required action.',
      },
    },
  ),
  examples: [
    {
      type: 'model_call',
      started_at: '2026-11-21T09:48:04.063001Z',
      ended_at: '2026-11-21T09:48:06.420110Z',
      status: 'ok',
      step: 1,
      message_id: 'msg_01kag8z0k4d7q2r9t5y8h3j6m1',
      model_id: 'claude-sonnet-5-5',
      attempt: 1,
      first_token_ms: 761,
      usage: { input_tokens: 702, output_tokens: 51 },
      cost: { amount: '0.002871', currency: 'USD' },
    },
  ],
} as const satisfies JsonSchema;

export const listTimelineEntries = operation({
  id: 'listTimelineEntries',
  summary: 'Show what a turn did when, oldest first',
  description:
    'Shows where the time of a turn went: its wait for a worker, each model call with its attempts, each tool and each wait for an answer. Also of a turn that is still running.',
  paged: true,
  success: { status: 200, description: 'A page of the timeline.', schema: pageSchema(entry) },
  errors: ['session_not_found', 'turn_not_found'],
  resource: turnOfPath,
  async handle({ deps, query, resource: turn }) {
    const list = `timeline of ${turn.id}`;
    const request = pageRequest(query, list, 2);
    if (request.after !== null && !isTimestamp(request.after[0]!)) throw invalidCursor();
    const rows = await readTimeline(deps.db, turn.id, request);
    return pageOf(list, rows, ({ started_at, place }) => [started_at, place], present);
  },
});

function present({ place: _, type, name, started_at, ended_at, status, ...details }: TimelineRow): object {
  const known = Object.entries(details).filter(([, value]) => value !== null);
  return { type, ...(name !== null && { name }), started_at, ended_at, status, ...Object.fromEntries(known) };
}

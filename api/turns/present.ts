import { OPEN_STATES } from '../../src/db/turn-states.js';
import { output, spent, stopReason, turnError } from '../../src/events/fields.js';
import { JsonText } from '../../src/platform/json-text.js';
import { described, objectSchema, orNull } from '../../src/platform/object-schema.js';
import { idField, idOrNull, text, timestamp, timestampOrNull } from '../../src/platform/schema-fields.js';
import type { FoundTurn } from '../../src/turns/find-turns.js';
import { versionNumber } from '../../src/agents/fields.js';
import type { Caller } from '../http/core/operation.js';
import { presented } from '../http/core/presenter.js';

const turnAgent = {
  $id: 'TurnAgent',
  description: 'The agent with which a turn began.',
  ...objectSchema({
    id: idField('agent', 'Id of the agent.'),
    version: described(versionNumber, 'Its version.'),
    skills: {
      type: 'array',
      description: 'The skills of the agent, without those that the message selects.',
      items: {
        $id: 'TurnSkill',
        description: 'A skill.',
        ...objectSchema({ id: idField('skill', 'Id of the skill.'), name: described(text, 'Its name.') }),
      },
    },
  }),
} as const;

const sentBy = {
  $id: 'TurnSender',
  description: 'Whose request began a turn.',
  ...objectSchema({
    key_id: idField('apiKey', 'The key, or the key that made the session token.'),
    actor: {
      type: ['string', 'null'],
      description: 'The person for whom the back end acted: of `X-Actor` or of the token; null without.',
    },
  }),
} as const;

const turn = presented(
  'Turn',
  'A run of the agent: it begins with a message, or continues another turn.',
  {
    id: idField('turn', 'Id of the turn.'),
    session_id: idField('session', 'Id of its session.'),
    status: {
      $id: 'TurnStatus',
      type: 'string',
      enum: [...OPEN_STATES, 'waiting', 'completed', 'cancelled', 'failed'],
      description:
        '`queued`, `running`, or `waiting` for answers (see required_actions of the session); then how it ended.',
    },
    model_id: described(text, 'The requested model.'),
    agent: orNull(turnAgent, 'The agent that the turn began with; null without one.'),
    created_at: described(timestamp, 'The time of its first event.'),
    started_at: described(timestampOrNull, 'Null while it is queued, and if it never ran.'),
    ended_at: described(timestampOrNull, 'The time of its terminal event; null until then.'),
    stop_reason: orNull(stopReason, 'Why it completed; null otherwise.'),
    error: orNull(turnError, 'Why it failed; null otherwise.'),
    usage: described(spent.usage, 'As in the terminal event; null until then.'),
    usage_details: described(spent.usage_details, 'As in the terminal event; null until then.'),
    timing: orNull(spent.timing, 'As in the terminal event; null until then.'),
    message: { type: ['string', 'null'], description: 'The content of its last `agent.message`; null without one.' },
    parent_turn_id: idOrNull('turn', 'The turn that has the call on which this one works; null for others.'),
    continues_turn_id: idOrNull('turn', 'Id of the turn that it continues; null if it continues none.'),
    sent_by: orNull(
      sentBy,
      'Whose request began it; null for a turn of a schedule, a copied one, and in responses to a session token.',
    ),
  },
  {
    id: 'turn_01kag8z0d4k7q2r9t5y8h3j6m1',
    session_id: 'ses_01kag8y7m3w9s1p4x2c5v6b7n8',
    status: 'completed',
    model_id: 'claude-sonnet-5-5',
    agent: null,
    created_at: '2026-11-21T09:48:04.000111Z',
    started_at: '2026-11-21T09:48:04.051234Z',
    ended_at: '2026-11-21T09:48:09.654321Z',
    stop_reason: 'end_turn',
    error: null,
    usage: { input_tokens: 1489, output_tokens: 94 },
    usage_details: {
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
      model_calls: 2,
      cost: { amount: '0.005877', currency: 'USD' },
    },
    timing: {
      queued_ms: 51,
      connect_ms: null,
      first_token_ms: 812,
      model_ms: 4980,
      tools_ms: 310,
      waiting_ms: null,
      between_steps_ms: 313,
      total_ms: 5654,
    },
    message: 'Two orders are late: 4711 and 4712.',
    parent_turn_id: null,
    continues_turn_id: null,
    sent_by: { key_id: 'key_01kag8q2w3e4r5t6y7u8i9o0p1', actor: 'jane@example.com' },
  },
);
/** `output` is there in turns with `output_schema` only. */
export const turnSchema = {
  ...turn.schema,
  properties: { ...(turn.schema.properties as object), output },
};

/** A page does not see how its session is configured, nor who sends messages. */
export function presentTurn({ token }: Pick<Caller, 'token'>, row: FoundTurn): Record<string, unknown> {
  const { sent_by_key: key_id, sent_by_actor: actor } = row;
  const agent = token === null ? agentOf(row) : null;
  const sent_by = token !== null || key_id === null ? null : { key_id, actor };
  const presented = turn.present({ ...row, agent, sent_by, status: row.waits ? 'waiting' : row.state });
  // The text keeps the digits of its numbers.
  return row.must_give_output ? { ...presented, output: new JsonText(row.output ?? 'null') } : presented;
}

function agentOf({ agent_id: id, agent_version: version, agent_skills }: FoundTurn): object | null {
  if (id === null) return null;
  return { id, version, skills: (agent_skills ?? []).map((skill) => ({ id: skill.id, name: skill.name })) };
}

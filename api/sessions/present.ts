import { count, money, requiredAction } from '../../src/events/fields.js';
import { objectSchema } from '../../src/platform/object-schema.js';
import { budgetSchema } from '../../src/sessions/budget.js';
import { isOpen } from '../../src/db/turn-states.js';
import { JsonText } from '../../src/platform/json-text.js';
import type { Session } from '../../src/sessions/store.js';
import { sessionToolsSchema } from '../../src/sessions/tool-fields.js';
import { presented, timestamp } from '../http/core/presenter.js';

const session = presented(
  'Session',
  {
    id: { type: 'string', pattern: '^ses_' },
    status: { type: 'string', enum: ['IDLE', 'RUNNING', 'COMPLETE', 'CANCELLED', 'FAILED'] },
    model_id: { type: 'string' },
    thinking_enabled: { type: 'boolean' },
    instruction: { type: ['string', 'null'] },
    mcp_servers: { type: 'array', items: { type: 'string' } },
    metadata: { type: 'object', additionalProperties: { type: 'string' } },
    preview: {
      type: ['string', 'null'],
      description: 'The first 120 characters of the first message; null without one.',
    },
    tools: sessionToolsSchema,
    required_actions: { type: 'array', items: requiredAction },
    queue: {
      ...objectSchema({ length: count, state: { enum: ['open', 'held'] } }),
      description: 'The waiting messages. held: none starts automatically, because the last turn did not complete.',
    },
    fallback_model_ids: { type: 'array', items: { type: 'string' } },
    budget: budgetSchema,
    cost: {
      ...money,
      type: ['object', 'null'],
      description: 'What the model calls of its turns cost so far; null if one of their models has no price.',
    },
    continuable: { type: 'boolean', description: 'True if POST continue can continue the last turn.' },
    last_turn_id: { type: ['string', 'null'] },
    created_at: timestamp,
    updated_at: timestamp,
  },
  [
    {
      id: 'ses_01kag8y7m3w9s1p4x2c5v6b7n8',
      status: 'COMPLETE',
      model_id: 'claude-sonnet-5-5',
      thinking_enabled: true,
      instruction: 'Answer in one sentence.',
      mcp_servers: [],
      metadata: { customer: '4711' },
      preview: 'Which orders are late?',
      tools: [],
      required_actions: [],
      queue: { length: 0, state: 'open' },
      fallback_model_ids: ['claude-haiku-4-5'],
      budget: { max_cost: { amount: '5', currency: 'USD' }, on_reached: 'stop' },
      cost: { amount: '0.012345', currency: 'USD' },
      continuable: false,
      last_turn_id: 'turn_01kag8z0d4k7q2r9t5y8h3j6m1',
      created_at: '2026-11-21T09:48:03.123456Z',
      updated_at: '2026-11-21T09:48:09.654321Z',
    },
  ],
);
export const { schema: sessionSchema } = session;

/** The status of a session is derived from its latest turn (docs/interface.md). */
const STATUS_OF_TURN = {
  queued: 'RUNNING',
  running: 'RUNNING',
  completed: 'COMPLETE',
  cancelled: 'CANCELLED',
  failed: 'FAILED',
} as const;

export function presentSession(row: Session): Record<string, unknown> {
  return session.present({
    ...row,
    status: row.turn_state === null ? 'IDLE' : STATUS_OF_TURN[row.turn_state],
    tools: new JsonText(row.tools),
    required_actions: new JsonText(row.required_actions),
    queue: { length: row.waiting, state: isHeld(row) ? 'held' : 'open' },
  });
}

/** A turn that completes starts the first message that waits: without an open turn, what waits is held. */
function isHeld({ waiting, turn_state }: Session): boolean {
  return waiting > 0 && (turn_state === null || !isOpen(turn_state));
}

import { OPEN_STATES } from '../../src/db/turn-states.js';
import { spent, STOP_REASONS, turnError } from '../../src/events/fields.js';
import type { FoundTurn } from '../../src/turns/find-turns.js';
import { presented, timestamp, timestampOrNull } from '../http/core/presenter.js';

const turn = presented('Turn', {
  id: { type: 'string', pattern: '^turn_' },
  session_id: { type: 'string', pattern: '^ses_' },
  status: {
    type: 'string',
    enum: [...OPEN_STATES, 'waiting', 'completed', 'cancelled', 'failed'],
    description: 'waiting: calls of the agent wait for an answer.',
  },
  model_id: { type: 'string', description: 'The requested model.' },
  created_at: { ...timestamp, description: 'The time of its first event.' },
  started_at: { ...timestampOrNull, description: 'Null while it is queued, and if it never ran.' },
  ended_at: { ...timestampOrNull, description: 'The time of its terminal event.' },
  stop_reason: { type: ['string', 'null'], enum: [...STOP_REASONS, null], description: 'Why it completed.' },
  error: { ...turnError, type: ['object', 'null'], description: 'Why it failed.' },
  usage: { ...spent.usage, description: 'As in the terminal event; null until then.' },
  usage_details: spent.usage_details,
  timing: { ...spent.timing, type: ['object', 'null'] },
  message: { type: ['string', 'null'], description: 'The content of its last `agent.message`.' },
  continues_turn_id: { type: ['string', 'null'], description: 'Id of the turn that it continues.' },
});
export const { schema: turnSchema } = turn;

export function presentTurn(row: FoundTurn): Record<string, unknown> {
  return turn.present({ ...row, status: row.waits ? 'waiting' : row.state });
}

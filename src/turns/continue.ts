import type { Tx } from '../db/db.js';
import type { TurnState } from '../db/turn-states.js';
import { ServiceError } from '../platform/errors.js';
import { newId } from '../platform/ids.js';
import { traceparent } from '../platform/tracing.js';
import type { ModelCatalogue } from '../models/catalogue.js';
import { configurationOfTurn, MODEL_ID, THINKING_ENABLED } from '../sessions/configured.js';
import { CONTINUABLE } from '../sessions/store.js';
import { lockForRequest, openTurn, requireNoOpenTurn, admitTurn, type QueuedTurn, type SentBy } from './begin.js';

interface LastTurn {
  id: string;
  state: TurnState;
  continuable: boolean;
  /** What it ran with. */
  model_id: string;
  thinking_enabled: boolean;
  message_number: number;
}

const LAST_TURN = `
  SELECT t.id, t.state, ${CONTINUABLE} AS continuable, coalesce(t.model_id, ${MODEL_ID}) AS model_id,
    coalesce(t.thinking_enabled, ${THINKING_ENABLED}) AS thinking_enabled,
    coalesce(t.message_number, t.number) AS message_number
  FROM sessions JOIN turns t ON t.id = last_turn_id ${configurationOfTurn('t')} WHERE sessions.id = $1`;

/**
 * Opens a turn that goes on after the last stored step of the session's last turn, with its message, model and thinking. A model that
 * left the catalogue is replaced by that of the session.
 * @throws ServiceError session_not_found, session_running, turn_not_continuable; and the commit too_many_running_turns
 */
export async function continueTurn(
  tx: Tx,
  models: ModelCatalogue,
  projectId: string,
  sessionId: string,
  { namespace, sentBy }: { namespace: string; sentBy: SentBy },
): Promise<QueuedTurn> {
  const session = await lockForRequest(tx, projectId, sessionId);
  await requireNoOpenTurn(tx, session);
  const [last] = await tx.query<LastTurn[]>(LAST_TURN, [sessionId]);
  if (last?.continuable !== true) throw notContinuable(last?.state);
  const { id: continues_turn_id, thinking_enabled, message_number } = last;
  const model_id = models.has(last.model_id) ? last.model_id : null;
  const asked = { model_id, thinking_enabled, message_number, continues_turn_id };
  const turn = { id: newId('turn'), trace: traceparent(), sent_by: sentBy, ...asked };
  const first = { type: 'turn.continued', data: { continues_turn_id } } as const;
  const opened = openTurn(tx, session, turn, first, { namespace });
  admitTurn(tx, session);
  return opened;
}

function notContinuable(state: TurnState | undefined): ServiceError {
  if (state === undefined) return refuse('no_turn', 'The session has no turn yet. Send a message.');
  if (state === 'completed') return refuse('completed', 'The last turn has completed. Send a message.');
  return refuse(
    'context_too_long',
    'The last turn does not fit into the context of its model. Send a shorter message.',
  );
}

function refuse(reason: string, message: string): ServiceError {
  return new ServiceError('turn_not_continuable', message, { reason });
}

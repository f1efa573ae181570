import { ServiceError } from '../platform/errors.js';
import type { Outcome } from './kinds/wait-kind.js';

/** Why a call takes no answer. */
type Reason = Outcome | 'not_asked' | 'not_required';

export function notPending(toolUseId: string, state: Reason): ServiceError {
  return new ServiceError(
    'tool_use_not_pending',
    `The call ${toolUseId} does not wait for an answer: ${REASONS[state]}.`,
    {
      tool_use_id: toolUseId,
      state,
    },
  );
}

const ENDED = 'its turn was cancelled or has ended';
const REASONS: Record<Reason, string> = {
  not_asked: 'agent.requires_action has not named it yet',
  not_required: 'it needs none',
  allowed: 'it was allowed',
  authorized: 'its server was authorized',
  denied: 'it was denied',
  answered: 'it has a result',
  expired: 'it was not answered in time',
  withdrawn: ENDED,
  lost: ENDED,
  cancelled: ENDED,
};

export function elicitationNotFound(ids: string[]): ServiceError {
  return new ServiceError('elicitation_not_found', `The session has no question ${ids.join(', ')}.`, {
    elicitation_ids: ids,
  });
}

export function questionNotPending(id: string, state: Reason): ServiceError {
  return new ServiceError(
    'elicitation_not_pending',
    `The question ${id} does not wait for an answer: ${WHY[state] ?? REASONS[state]}.`,
    {
      elicitation_id: id,
      state,
    },
  );
}

const WHY: Partial<Record<Reason, string>> = {
  answered: 'it has another answer',
  withdrawn: 'its server has withdrawn it, or its call has ended',
  lost: 'a restart ended the call that was to pass the answer on',
};

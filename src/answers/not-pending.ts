import { ServiceError } from '../platform/errors.js';
import type { ActionState } from './actions.js';
import type { AuthorizationState } from './authorization-wait.js';
import type { ElicitationState } from './elicitation.js';

type ClosedState = Exclude<ActionState | AuthorizationState, 'open' | 'planned'> | 'not_asked' | 'not_required';

export function notPending(toolUseId: string, state: ClosedState): ServiceError {
  return new ServiceError(
    'tool_use_not_pending',
    `The call ${toolUseId} does not wait for an answer: ${REASONS[state]}.`,
    {
      tool_use_id: toolUseId,
      state,
    },
  );
}

const REASONS: Record<ClosedState, string> = {
  not_asked: 'agent.requires_action has not named it yet',
  not_required: 'it needs none',
  allowed: 'it was allowed',
  authorized: 'its server was authorized',
  denied: 'it was denied',
  answered: 'it has a result',
  expired: 'it was not answered in time',
  cancelled: 'its turn was cancelled or has ended',
};

export function elicitationNotFound(ids: string[]): ServiceError {
  return new ServiceError('elicitation_not_found', `The session has no question ${ids.join(', ')}.`, {
    elicitation_ids: ids,
  });
}

export function questionNotPending(id: string, state: Exclude<ElicitationState, 'open'>): ServiceError {
  return new ServiceError('elicitation_not_pending', `The question ${id} does not wait for an answer: ${WHY[state]}.`, {
    elicitation_id: id,
    state,
  });
}

const WHY: Record<Exclude<ElicitationState, 'open'>, string> = {
  answered: 'it has another answer',
  expired: 'it was not answered in time',
  withdrawn: 'its server has withdrawn it, or its call has ended',
  lost: 'a restart ended the call that was to pass the answer on',
  cancelled: 'its turn was cancelled or has ended',
};

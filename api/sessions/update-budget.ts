import type { Tx } from '../../src/db/db.js';
import { answerBudgetWait, answerBudgetWaitsOfChildren } from '../../src/waits/budget.js';
import { signalAnswers } from '../../src/waits/signal-answers.js';
import { isOpen } from '../../src/db/turn-states.js';
import { transaction } from '../../src/db/transaction.js';
import type { Logger } from '../../src/platform/logger.js';
import {
  findSession,
  findSessionState,
  lockSession,
  type Session,
  type SessionState,
} from '../../src/sessions/store.js';
import type { TurnWorkflows } from '../../src/temporal/turn-workflows.js';
import { TurnEndedError } from '../../src/turns/errors.js';
import { changeTurn, ifOpen, type TurnDeps } from '../../src/turns/change-turn.js';
import type { Turn } from '../../src/turns/turn.js';
import { sessionNotFound } from '../http/core/session-of-path.js';

interface Deps extends TurnDeps {
  workflows: TurnWorkflows;
  log: Logger;
}

/**
 * Updates a session with a new budget under the locks of its open turn and its own: the turn may wait for a larger budget, or begin to
 * at this moment.
 * @throws ServiceError session_not_found
 */
export async function updateBudget(
  deps: Deps,
  projectId: string,
  id: string,
  update: (tx: Tx, locked: Session) => Promise<Session>,
): Promise<Session> {
  const change = async (tx: Tx, turn: Turn | null): Promise<Updated | null> => {
    const locked = (await lockSession(tx, projectId, id)) ?? sessionNotFound();
    // Another turn has begun since: its lock comes before the session's.
    if (openTurnOf(locked) !== (turn?.id ?? null)) return null;
    const session = await update(tx, locked);
    if (turn === null) return { session, resumed: null, parent: null };
    if (session === locked) {
      turn.stayStill();
      return { session, resumed: null, parent: null };
    }
    const isOver = await answerBudgetWait(tx, turn, session.budget);
    return {
      session: (await findSession(tx, projectId, id))!,
      resumed: isOver ? turn.id : null,
      parent: turn.hasChildren ? turn.id : null,
    };
  };
  for (;;) {
    const turnId = openTurnOf((await findSessionState(deps.db, projectId, id)) ?? sessionNotFound());
    const updated = await (
      turnId === null
        ? transaction(deps.db, (tx) => change(tx, null))
        : changeTurn(deps, turnId, ifOpen, (turn, tx) => change(tx, turn))
    ).catch((error: unknown) => {
      if (error instanceof TurnEndedError) return null;
      throw error;
    });
    if (updated === null) continue;
    if (updated.resumed !== null) signalAnswers(deps, updated.resumed);
    if (updated.parent === null) return updated.session;
    for (const childTurnId of await answerBudgetWaitsOfChildren(deps, updated.parent)) signalAnswers(deps, childTurnId);
    return (await findSession(deps.db, projectId, id)) ?? updated.session;
  }
}

interface Updated {
  session: Session;
  resumed: string | null;
  /** The turn, if its calls have begun turns of other agents, which have the same budget. */
  parent: string | null;
}

function openTurnOf({ last_turn_id, turn_state }: Pick<SessionState, 'last_turn_id' | 'turn_state'>): string | null {
  return turn_state !== null && isOpen(turn_state) ? last_turn_id : null;
}

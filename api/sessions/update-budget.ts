import type { EntityManager } from 'typeorm';
import { answerBudgetWait } from '../../src/answers/budget-wait.js';
import { signalAnswers } from '../../src/turns/signal-answers.js';
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
import { TurnEndedError } from '../../src/turns/turn.js';
import { changeTurn, open, type TurnDeps, type TurnTransaction } from '../../src/turns/write.js';
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
  update: (tx: EntityManager, locked: Session) => Promise<Session> | Session,
): Promise<Session> {
  const change = async (turn: string | null, { tx, write }: Change): Promise<Updated | null> => {
    const locked = (await lockSession(tx, projectId, id)) ?? sessionNotFound();
    // Another turn has begun since: its lock comes before the session's.
    if (openTurnOf(locked) !== turn) return null;
    const session = await update(tx, locked);
    if (turn === null || session === locked) return { session, resumed: null };
    const isOver = await answerBudgetWait({ tx, write: write! }, turn, session.budget);
    return { session: (await findSession(tx, projectId, id))!, resumed: isOver ? turn : null };
  };
  for (;;) {
    const turn = openTurnOf((await findSessionState(deps.db, projectId, id)) ?? sessionNotFound());
    const updated = await (
      turn === null
        ? transaction(deps.db, (tx) => change(null, { tx }))
        : changeTurn(deps, turn, async ({ tx, lock, write }) => {
            await lock(open(turn));
            return change(turn, { tx, write });
          })
    ).catch((error: unknown) => {
      if (error instanceof TurnEndedError) return null;
      throw error;
    });
    if (updated === null) continue;
    if (updated.resumed !== null) signalAnswers(deps, updated.resumed);
    return updated.session;
  }
}

interface Change {
  tx: EntityManager;
  write?: TurnTransaction['write'];
}

interface Updated {
  session: Session;
  resumed: string | null;
}

function openTurnOf({ last_turn_id, turn_state }: Pick<SessionState, 'last_turn_id' | 'turn_state'>): string | null {
  return turn_state !== null && isOpen(turn_state) ? last_turn_id : null;
}

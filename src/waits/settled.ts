import { WAIT_KINDS } from './kinds/index.js';
import type { WaitType } from './kinds/wait-kind.js';

const KINDS = WAIT_KINDS.flatMap(({ type, settled }) => (settled === undefined ? [] : [{ type, ...settled }]));

/** SQL that is true for a wait `w`, planned or open, that something other than an answer has ended. */
export const IS_SETTLED = `(${KINDS.map(({ type, when }) => `w.kind = '${type}' AND (${when})`).join(' OR ')})`;

/** SQL for the outcome of such a wait. */
export const OUTCOME_SETTLED = `CASE w.kind ${KINDS.map(({ type, outcome }) => `WHEN '${type}' THEN '${outcome}'`).join(' ')} END`;

/** Something other than an answer may end a wait of this kind. */
export function settles(type: WaitType): boolean {
  return KINDS.some((kind) => kind.type === type);
}

/**
 * SQL for a part of a statement whose part `ended` has closed waits: the reconciler looks at their turns within seconds, should the signal
 * to their workflows be lost. It waits for no lock, because a change of a turn takes those of its rows in another order.
 */
export const CHECK_SOON = `checked AS (
  UPDATE open_turns SET checked_at = NULL
  WHERE turn_id IN (SELECT o.turn_id FROM open_turns o JOIN ended USING (turn_id) FOR UPDATE OF o SKIP LOCKED))`;

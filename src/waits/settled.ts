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

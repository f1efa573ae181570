import type { Db } from '../db/db.js';
import { isWaiting } from '../sessions/required-actions.js';
import { readFacts, readFactsOf } from './facts.js';
import { timing, type TurnTimes } from './timing.js';

const TIMES =
  'SELECT id, queued_at, started_at, connected_at, connect_ms, first_token_at, clock_timestamp() AS now FROM turns';

type TimesRow = TurnTimes & { id: string; now: string };

/** Milliseconds that a turn has run so far, without its waits and its tasks; 0 if it does not exist. */
export async function loadRunningMs(db: Db, turnId: string): Promise<number> {
  const [turn] = await db.query<TimesRow[]>(`${TIMES} WHERE id = $1`, [turnId]);
  return turn === undefined ? 0 : timing(turn, await readFacts(db, turnId), turn.now).runningMs;
}

/** How many of the turns that started first are looked at. */
const MAX_OLDEST = 100;
const OLDEST = `
  ${TIMES} JOIN open_turns ON turn_id = id
  WHERE state = 'running' AND NOT ${isWaiting('id')} AND NOT EXISTS (
    SELECT FROM tool_calls c WHERE c.turn_id = turns.id AND c.holds_task AND c.state = 'task')
  ORDER BY started_at LIMIT ${MAX_OLDEST}`;

/** The longest running time among turns that are not waiting; 0 if there are none. */
export async function loadLongestRunningMs(db: Db): Promise<number> {
  const turns = await db.query<TimesRow[]>(OLDEST);
  const ids = turns.map(({ id }) => id);
  const facts = await readFactsOf(db, ids);
  return Math.max(0, ...turns.map((turn) => timing(turn, facts.get(turn.id)!, turn.now).runningMs));
}

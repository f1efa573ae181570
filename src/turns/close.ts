import { rawSql } from '../db/sql.js';

/**
 * The statements that end with a turn, for `src/turns/write`. The last one records the turn's end as the state of its
 * session, for the list of sessions by status; mostly it is that of the turn before, and nothing is written.
 */
export const CLOSE = [
  rawSql('DELETE FROM open_turns USING written WHERE turn_id = written.id'),
  rawSql(`UPDATE required_actions a SET state = 'cancelled' FROM written
   WHERE a.turn_id = written.id AND a.state IN ('planned', 'open')`),
  rawSql(`UPDATE session_states s SET state = written.state FROM written
   WHERE s.session_id = written.session_id AND s.state <> written.state`),
];

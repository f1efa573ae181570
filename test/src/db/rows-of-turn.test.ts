import { expect } from 'chai';
import { ROWS_OF_TURN } from '../../../src/db/rows-of-turn.js';
import { useDatabase, usePool } from '../../support/use.js';

/** Tables that name a turn, whose rows are not the turn's own: what they are deleted with. */
const OTHERS = {
  events: 'the turn, by its session and number (src/sessions/purge.ts)',
  deltas: 'their partition',
  open_turns: 'the end of the turn',
  turn_usage: 'nothing',
  waiting_messages: 'their delivery, or the session',
  webhook_deliveries: 'their age',
  schedule_runs: 'their age',
  // By whom a text was written. They go with their memory.
  memory_files: 'their memory',
  memory_versions: 'their memory',
};
/** Columns that a fork does not copy, beside the ids of turn and session. */
const NOT_COPIED: Record<string, string[]> = {
  // What names the activity of a call: it has ended.
  // What a call of a child session may cost counts while the call runs.
  model_calls: ['task_token', 'reserved'],
  // It also counts among the open tasks.
  tool_calls: ['task_token', 'holds_task'],
};

describe('the rows of a turn', () => {
  const db = usePool(useDatabase(), 1);
  const columnsOf = async (table: string): Promise<string[]> => {
    const rows = await db.query<{ name: string }[]>(
      `SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`,
      [table],
    );
    return rows.map(({ name }) => name);
  };

  it('the rows of a turn are those of every table that names a turn, but for tables that say what their rows go with', async () => {
    const rows = await db.query<{ name: string }[]>(
      `SELECT relname AS name FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
       WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND attname = 'turn_id'`,
    );
    expect(rows.map(({ name }) => name)).to.have.members([
      ...ROWS_OF_TURN.map(({ table }) => table),
      ...Object.keys(OTHERS),
    ]);
  });

  it('the rows of a turn are copied with every column, but for those that are about its run', async () => {
    for (const { table, copied } of ROWS_OF_TURN) {
      if (copied === null) continue;
      const own = ['turn_id', ...(copied.namesSession ? ['session_id'] : []), ...(NOT_COPIED[table] ?? [])];
      expect([...copied.columns.split(', '), ...own], table).to.have.members(await columnsOf(table));
    }
  });
});

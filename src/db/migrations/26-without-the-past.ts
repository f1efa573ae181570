import type { MigrationInterface, QueryRunner } from 'typeorm';
import { foldCase } from '../../platform/fold-case.js';

const BATCH = 500;

/** Drops what served processes and rows of versions that no longer exist, and fills in what rounds of the reconciler filled. */
export class WithoutThePast1800000000026 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Times, usage and cost of a turn follow from the rows of its calls and waits (src/turns/timing, src/turns/spent).
      DROP TRIGGER turns_summed_up ON turns;
      DROP TRIGGER IF EXISTS required_actions_closed ON required_actions;
      DROP TRIGGER IF EXISTS required_actions_reopened ON required_actions;
      DROP TRIGGER IF EXISTS elicitations_closed ON elicitations;
      DROP FUNCTION sum_up_turn, count_open_turns, turn_counts, length_of, span_of, close_wait, keep_wait, lock_session_for_turn;
      ALTER TABLE turns
        DROP COLUMN model_time, DROP COLUMN model_started_at, DROP COLUMN tools_time, DROP COLUMN tools_started_at,
        DROP COLUMN tools_running, DROP COLUMN waiting_time, DROP COLUMN waiting_started_at, DROP COLUMN task_time,
        DROP COLUMN task_started_at, DROP COLUMN tasks_running, DROP COLUMN input_tokens, DROP COLUMN output_tokens,
        DROP COLUMN cache_read_input_tokens, DROP COLUMN cache_creation_input_tokens, DROP COLUMN estimated_calls,
        DROP COLUMN is_summed_up;
      ALTER TABLE model_steps DROP COLUMN created_at;

      ALTER TABLE model_attempts DROP COLUMN joined_by;
      ALTER TABLE model_attempts RENAME TO model_calls;
      ALTER TABLE model_calls RENAME COLUMN attempt TO call;
      ALTER INDEX model_attempts_pkey RENAME TO model_calls_pkey;
      ALTER TABLE deltas RENAME COLUMN attempt TO call;

      UPDATE turn_usage SET is_first = NOT EXISTS (
        SELECT FROM turn_usage o WHERE o.turn_id = turn_usage.turn_id AND o.model_id < turn_usage.model_id)
      WHERE is_first IS NULL;
      ALTER TABLE turn_usage ALTER COLUMN is_first SET NOT NULL;

      UPDATE session_states SET row_bytes = coalesce((
        SELECT 1500 + pg_column_size(s.tools) + pg_column_size(s.model_tools) + coalesce(pg_column_size(s.instruction), 0)
          + octet_length(s.metadata::text) + row_bytes_of_turns(s.id, 1, (
            SELECT coalesce(max(number), 0) FROM turns WHERE turns.session_id = s.id AND turns.ended_at IS NOT NULL))
        FROM sessions s WHERE s.id = session_states.session_id), 0)
      WHERE row_bytes IS NULL;
      DROP INDEX session_states_uncounted;
      ALTER TABLE session_states ALTER COLUMN row_bytes SET NOT NULL, ALTER COLUMN active_at DROP DEFAULT;
      CREATE OR REPLACE FUNCTION note_row_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        change bigint := CASE WHEN TG_OP = 'DELETE' THEN 0 ELSE NEW.row_bytes END
          - CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE OLD.row_bytes END;
      BEGIN
        IF change <> 0 THEN
          INSERT INTO row_byte_changes VALUES (coalesce(NEW.project_id, OLD.project_id), change);
        END IF;
        RETURN NULL;
      END $$;
    `);
    await foldPreviews(runner);
    await runner.query('DROP INDEX sessions_unfolded');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

/** No function of Postgres folds as searches do. */
async function foldPreviews(runner: QueryRunner): Promise<void> {
  for (;;) {
    const found = (await runner.query(
      `SELECT id, preview FROM sessions WHERE preview IS NOT NULL AND preview_folded IS NULL LIMIT ${BATCH}`,
    )) as { id: string; preview: string }[];
    if (found.length === 0) return;
    const values = [found.map(({ id }) => id), found.map(({ preview }) => foldCase(preview))];
    for (const [table, id] of [
      ['session_states', 'session_id'],
      ['sessions', 'id'],
    ]) {
      await runner.query(
        `UPDATE ${table} SET preview_folded = folded.text FROM unnest($1::text[], $2::text[]) AS folded (id, text)
         WHERE ${table}.${id} = folded.id`,
        values,
      );
    }
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Fewer locks for new turns, and the Temporal namespace that a turn belongs to. */
export class Admission1700000000025 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- The Temporal namespace whose workers run the turn; null: queued before there was this column.
      ALTER TABLE turns ADD COLUMN IF NOT EXISTS namespace text;
      -- Its check locks the project's row for each new turn. The session has the same reference.
      ALTER TABLE turns DROP CONSTRAINT IF EXISTS turns_project_id_fkey;

      -- From earlier drafts of this migration.
      DROP TRIGGER IF EXISTS turns_admission ON turns;
      DROP FUNCTION IF EXISTS admit_turn();
      DROP FUNCTION IF EXISTS admit_turn(text, text);

      -- Locks a session, and reads what a new turn is decided by: lock_for_new_turn, which the version before this one
      -- still calls, without the lock of the project's row. Messages that are under way at the same time are at most as many
      -- as there are connections. Only where they could take the last places together, they wait for each other's commits,
      -- and the count after the lock sees what was committed before.
      CREATE OR REPLACE FUNCTION lock_session_for_turn(the_project text, the_session text)
      RETURNS TABLE (model_id text, mcp_servers integer, turn_count integer, last_state text, open_turns bigint,
        max_running_turns integer)
      LANGUAGE plpgsql AS $$
      #variable_conflict use_column
      DECLARE
        most integer;
        taken bigint;
        connections integer := current_setting('max_connections')::integer;
      BEGIN
        PERFORM FROM sessions WHERE id = the_session AND project_id = the_project FOR NO KEY UPDATE;
        SELECT max_running_turns INTO most FROM projects WHERE id = the_project;
        -- A limit within the number of connections needs the lock whatever is taken.
        IF most > connections THEN
          SELECT count(*) INTO taken FROM turns WHERE project_id = the_project AND state IN ('queued', 'running');
        END IF;
        IF most <= connections OR taken + connections >= most THEN
          PERFORM pg_advisory_xact_lock(hashtextextended('new turn ' || the_project, 0));
          SELECT count(*) INTO taken FROM turns WHERE project_id = the_project AND state IN ('queued', 'running');
        END IF;
        RETURN QUERY
          SELECT s.model_id, cardinality(s.mcp_servers), s.turn_count,
            (SELECT state FROM turns WHERE turns.id = s.last_turn_id), taken, most
          FROM sessions s
          WHERE s.id = the_session AND s.project_id = the_project AND s.deleted_at IS NULL;
      END $$;
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

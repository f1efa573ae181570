import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Short locks for new turns, and the Temporal namespace that a turn belongs to. */
export class Admission1700000000022 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE turns
        -- The Temporal namespace whose workers run the turn; null: queued before there was this column.
        ADD COLUMN namespace text,
        -- Its check locks the project's row for each new turn. The session has the same reference.
        DROP CONSTRAINT turns_project_id_fkey;

      -- lock_for_new_turn without the lock of the project's row. The version before this one still calls that function.
      CREATE FUNCTION lock_session_for_turn(the_project text, the_session text)
      RETURNS TABLE (model_id text, mcp_servers integer, turn_count integer, last_state text, open_turns bigint,
        max_running_turns integer)
      LANGUAGE plpgsql AS $$
      #variable_conflict use_column
      BEGIN
        PERFORM FROM sessions WHERE id = the_session AND project_id = the_project FOR NO KEY UPDATE;
        RETURN QUERY
          SELECT s.model_id, cardinality(s.mcp_servers), s.turn_count,
            (SELECT state FROM turns WHERE turns.id = s.last_turn_id),
            (SELECT count(*) FROM turns WHERE turns.project_id = the_project AND state IN ('queued', 'running')),
            p.max_running_turns
          FROM sessions s JOIN projects p ON p.id = s.project_id
          WHERE s.id = the_session AND s.project_id = the_project AND s.deleted_at IS NULL;
      END $$;

      -- Runs at the commit of a new turn: the turns of one project wait for each other's commits, and for nothing else.
      -- The count after the lock sees every turn that was admitted before.
      CREATE FUNCTION admit_turn() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        most integer;
      BEGIN
        PERFORM pg_advisory_xact_lock(hashtextextended('admit_turn ' || NEW.project_id, 0));
        SELECT max_running_turns INTO most FROM projects WHERE id = NEW.project_id;
        IF (SELECT count(*) FROM turns WHERE project_id = NEW.project_id AND state IN ('queued', 'running')) > most THEN
          RAISE EXCEPTION 'the project has % queued or running turns, its limit', most
            USING ERRCODE = 'AT001', DETAIL = most;
        END IF;
        RETURN NULL;
      END $$;
      CREATE CONSTRAINT TRIGGER turns_admission AFTER INSERT ON turns DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.state = 'queued') EXECUTE FUNCTION admit_turn();
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

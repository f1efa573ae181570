import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The last step of a message near its project's limit, instead of a trigger at every commit: a message that finds room for
 * more turns than there are connections takes no lock and counts once.
 */
export class AdmitTurn1700000000024 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER turns_admission ON turns;
      DROP FUNCTION admit_turn();

      -- The turns of one project wait for each other's commits here. The count after the lock sees all that were admitted.
      CREATE FUNCTION admit_turn(the_project text, the_turn text) RETURNS boolean LANGUAGE plpgsql AS $$
      DECLARE
        most integer;
      BEGIN
        PERFORM pg_advisory_xact_lock(hashtextextended('admit_turn ' || the_project, 0));
        SELECT max_running_turns INTO most FROM projects WHERE id = the_project;
        IF (SELECT count(*) FROM turns
            WHERE project_id = the_project AND state IN ('queued', 'running') AND id <> the_turn) >= most THEN
          RAISE EXCEPTION 'the project has % queued or running turns, its limit', most
            USING ERRCODE = 'AT001', DETAIL = most;
        END IF;
        RETURN true;
      END $$;
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

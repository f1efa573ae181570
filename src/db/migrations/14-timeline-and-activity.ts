import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index.js';

const BATCH = 10_000;

/** What the timeline of a turn shows, and the order of sessions by their last activity. */
export class TimelineAndActivity1800000000014 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- From the beginning of the call to its first output.
      ALTER TABLE model_attempts ADD COLUMN IF NOT EXISTS first_token_ms integer;
      -- The later of the last change of the session and the end of its last turn that ended. An open turn counts beside it: there are few.
      ALTER TABLE session_states ADD COLUMN IF NOT EXISTS active_at timestamptz;
      ALTER TABLE session_states ALTER COLUMN active_at SET DEFAULT clock_timestamp();

      -- A trigger, because workers of the version before end turns too while this one is rolled out.
      CREATE OR REPLACE FUNCTION note_activity() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE session_states SET active_at = greatest(active_at, NEW.transition_at) WHERE session_id = NEW.session_id;
        RETURN NULL;
      END $$;
      DROP TRIGGER IF EXISTS turns_activity ON turns;
      CREATE TRIGGER turns_activity AFTER UPDATE OF ended_at ON turns
        FOR EACH ROW WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION note_activity();
    `);
    // In batches: the ends of turns wait for these rows.
    for (let after = ''; ;) {
      const [batch] = (await runner.query(
        `WITH batch AS (
           SELECT session_id FROM session_states WHERE session_id > $1 ORDER BY session_id LIMIT ${BATCH}),
         filled AS (
           UPDATE session_states s SET active_at = greatest(r.created_at, r.metadata_updated_at, t.transition_at)
           FROM batch JOIN sessions r ON r.id = batch.session_id LEFT JOIN turns t ON t.id = r.last_turn_id
           WHERE s.session_id = batch.session_id AND s.active_at IS NULL)
         SELECT max(session_id) AS last FROM batch`,
        [after],
      )) as { last: string | null }[];
      if (batch!.last === null) break;
      after = batch!.last;
    }
    // Sessions that maintenance removed meanwhile left their row behind.
    await runner.query('UPDATE session_states SET active_at = created_at WHERE active_at IS NULL');
    await runner.query('ALTER TABLE session_states ALTER COLUMN active_at SET NOT NULL');
    await createIndexConcurrently(
      runner,
      'session_states_activity',
      'ON session_states (project_id, active_at DESC, session_id DESC)',
    );
    await createIndexConcurrently(
      runner,
      'session_states_state_activity',
      'ON session_states (project_id, state, active_at DESC, session_id DESC)',
    );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

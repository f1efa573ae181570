import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index.js';

/** The bytes of the rows of a project's sessions, which count in its storage (src/sessions/row-bytes). */
export class RowBytes1800000000022 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Of the rows of its sessions. A round of the reconciler adds up row_byte_changes, so that no turn waits for this row.
      ALTER TABLE project_storage ADD COLUMN IF NOT EXISTS row_bytes bigint NOT NULL DEFAULT 0;
      CREATE TABLE IF NOT EXISTS row_byte_changes (
        project_id text COLLATE "C" NOT NULL,
        bytes bigint NOT NULL
      );
      ALTER TABLE row_byte_changes SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
        autovacuum_vacuum_insert_scale_factor = 0.05);
      -- Null until they are counted: in sessions of the version before, a round of the reconciler counts them.
      ALTER TABLE session_states ADD COLUMN IF NOT EXISTS row_bytes bigint;

      CREATE OR REPLACE FUNCTION note_row_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        change bigint := CASE WHEN TG_OP = 'DELETE' THEN 0 ELSE coalesce(NEW.row_bytes, 0) END
          - CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE coalesce(OLD.row_bytes, 0) END;
      BEGIN
        IF change <> 0 THEN
          INSERT INTO row_byte_changes VALUES (coalesce(NEW.project_id, OLD.project_id), change);
        END IF;
        RETURN NULL;
      END $$;
      CREATE OR REPLACE TRIGGER session_states_bytes AFTER INSERT OR DELETE OR UPDATE OF row_bytes ON session_states
        FOR EACH ROW EXECUTE FUNCTION note_row_bytes();

      -- What a message takes while it waits, as text: a new row is not compressed yet. In its turn it counts as an event.
      CREATE OR REPLACE FUNCTION note_waiting_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'INSERT' THEN
          INSERT INTO row_byte_changes
          SELECT project_id, 500 + octet_length(NEW.data::text) FROM sessions WHERE id = NEW.session_id;
        ELSE
          INSERT INTO row_byte_changes
          SELECT project_id, -500 - octet_length(OLD.data::text) FROM sessions WHERE id = OLD.session_id;
        END IF;
        RETURN NULL;
      END $$;
      CREATE OR REPLACE TRIGGER waiting_messages_bytes AFTER INSERT OR DELETE ON waiting_messages
        FOR EACH ROW EXECUTE FUNCTION note_waiting_bytes();

      -- Of the turns of a session with these numbers. The size of a column is that on disk, compressed where Postgres does that, so
      -- that no large value is read. Each row counts 500 bytes more, for its other columns and its places in indexes, a turn 1,000.
      CREATE OR REPLACE FUNCTION row_bytes_of_turns(the_session text, first integer, last integer) RETURNS bigint
      LANGUAGE plpgsql STABLE AS $$
      DECLARE
        events bigint;
        others bigint;
      BEGIN
        SELECT coalesce(sum(500 + pg_column_size(e.data)), 0) INTO events FROM events e
        WHERE e.session_id = the_session AND e.turn_number BETWEEN first AND last;
        SELECT coalesce(sum(1000 + 500 * t.model_calls
            + (SELECT coalesce(sum(500 + pg_column_size(s.content)), 0) FROM model_steps s WHERE s.turn_id = t.id)
            + (SELECT coalesce(sum(500 + pg_column_size(c.input) + coalesce(pg_column_size(c.content), 0)), 0)
               FROM tool_calls c WHERE c.turn_id = t.id)
            + (SELECT coalesce(sum(500 + coalesce(pg_column_size(s.offered_tools), 0)), 0)
               FROM turn_servers s WHERE s.turn_id = t.id)), 0) INTO others FROM turns t
        WHERE t.session_id = the_session AND t.number BETWEEN first AND last;
        RETURN events + others;
      END $$;

      -- The end of a turn: the row of open_turns goes after the turn's last row has come. It notes the activity too, which a trigger of
      -- turns did before: one update for both.
      CREATE OR REPLACE FUNCTION note_end_of_turn() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        turn record;
      BEGIN
        SELECT number, transition_at INTO turn FROM turns WHERE id = OLD.turn_id;
        IF FOUND THEN
          UPDATE session_states SET active_at = greatest(active_at, turn.transition_at),
            row_bytes = row_bytes + row_bytes_of_turns(OLD.session_id, turn.number, turn.number)
          WHERE session_id = OLD.session_id;
        END IF;
        RETURN NULL;
      END $$;
      CREATE OR REPLACE TRIGGER open_turns_end AFTER DELETE ON open_turns
        FOR EACH ROW EXECUTE FUNCTION note_end_of_turn();
      DROP TRIGGER IF EXISTS turns_activity ON turns;
      DROP FUNCTION IF EXISTS note_activity();
    `);
    await createIndexConcurrently(
      runner,
      'session_states_uncounted',
      'ON session_states (session_id) WHERE row_bytes IS NULL',
    );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

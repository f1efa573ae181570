import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The versions of a workspace at the ends of the session's latest turns, for forks (contract.md §23). */
export class KeptWorkspaces1800000000017 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE workspaces
        -- The turn that stored the version: the version stands at the end of this turn, and of those after it.
        ADD COLUMN turn_number integer NOT NULL DEFAULT 0,
        -- Bytes of its objects, in their order.
        ADD COLUMN object_bytes bigint[] NOT NULL DEFAULT '{}',
        -- In a fork: whether it began as the version that stood at the end of the last copied turn, or as a later one.
        ADD COLUMN began text CHECK (began IN ('exact', 'later'));
      -- Which turns have stored the versions of before is not known.
      UPDATE workspaces SET turn_number = turn_count FROM sessions WHERE sessions.id = session_id;

      -- Versions that a later turn has replaced. Each stands at the ends of the turns from turn_number on, until the next one.
      CREATE TABLE kept_workspaces (
        session_id text COLLATE "C" NOT NULL REFERENCES workspaces ON DELETE CASCADE,
        turn_number integer NOT NULL,
        project_id text COLLATE "C" NOT NULL,
        version integer NOT NULL,
        objects text[] COLLATE "C" NOT NULL,
        object_bytes bigint[] NOT NULL,
        cwd text NOT NULL,
        size_bytes bigint NOT NULL,
        file_count integer NOT NULL,
        updated_at timestamptz,
        -- Of its objects that the version after it does not have.
        own_bytes bigint NOT NULL,
        PRIMARY KEY (session_id, turn_number)
      );
      -- For maintenance, as that of workspaces.
      CREATE INDEX kept_workspaces_objects ON kept_workspaces USING gin (objects);

      -- Keeps the version that an earlier turn has stored when a turn replaces it, and forgets those that stood at the end of none of the
      -- last 20 turns.
      CREATE FUNCTION keep_workspace() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.turn_number > OLD.turn_number THEN
          INSERT INTO kept_workspaces VALUES (OLD.session_id, OLD.turn_number, OLD.project_id, OLD.version, OLD.objects,
            OLD.object_bytes, OLD.cwd, OLD.size_bytes, OLD.file_count, OLD.updated_at, 0);
          DELETE FROM kept_workspaces WHERE session_id = OLD.session_id AND turn_number < (
            SELECT max(turn_number) FROM kept_workspaces
            WHERE session_id = OLD.session_id AND turn_number <= NEW.turn_number - 20);
        END IF;
        UPDATE kept_workspaces SET own_bytes = (
          SELECT coalesce(sum(bytes), 0) FROM unnest(objects, object_bytes) AS own (key, bytes) WHERE key <> ALL (NEW.objects))
        WHERE session_id = NEW.session_id AND turn_number = (
          SELECT max(turn_number) FROM kept_workspaces WHERE session_id = NEW.session_id);
        RETURN NULL;
      END $$;
      CREATE TRIGGER workspaces_kept AFTER UPDATE OF objects, turn_number ON workspaces
        FOR EACH ROW EXECUTE FUNCTION keep_workspace();

      -- What is kept counts in the storage of the project.
      CREATE FUNCTION count_kept_storage() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        change bigint := CASE WHEN TG_OP = 'DELETE' THEN 0 ELSE NEW.own_bytes END
          - CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE OLD.own_bytes END;
      BEGIN
        IF change <> 0 THEN
          INSERT INTO project_storage VALUES (coalesce(NEW.project_id, OLD.project_id), change)
          ON CONFLICT (project_id) DO UPDATE SET bytes = project_storage.bytes + excluded.bytes;
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER kept_workspaces_storage AFTER INSERT OR DELETE OR UPDATE OF own_bytes ON kept_workspaces
        FOR EACH ROW EXECUTE FUNCTION count_kept_storage();
      CREATE TRIGGER kept_workspaces_replaced AFTER DELETE ON kept_workspaces
        FOR EACH ROW EXECUTE FUNCTION note_replaced_objects();
      ALTER TABLE kept_workspaces SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
        autovacuum_vacuum_insert_scale_factor = 0.05)`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Workspaces1800000000009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- The newest version of a session's workspace (src/workspaces). A session without one has no row, and neither has one that
      -- was deleted.
      CREATE TABLE workspaces (
        session_id text COLLATE "C" PRIMARY KEY,
        project_id text COLLATE "C" NOT NULL,
        -- Counts the stored changes of the tree.
        version integer NOT NULL,
        -- Keys of its objects: the manifest, then the packs that it names; empty before the first change. A row may name objects
        -- of another session's folder.
        objects text[] COLLATE "C" NOT NULL,
        -- The working directory of the next command.
        cwd text NOT NULL,
        -- Of its regular files.
        size_bytes bigint NOT NULL,
        file_count integer NOT NULL,
        -- When the tree last changed; null before.
        updated_at timestamptz
      );
      -- For maintenance: which objects are still named.
      CREATE INDEX workspaces_objects ON workspaces USING gin (objects);

      -- Adds the bytes of workspaces to those of files and skills.
      CREATE FUNCTION count_workspace_storage() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        change bigint := CASE WHEN TG_OP = 'DELETE' THEN 0 ELSE NEW.size_bytes END
          - CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE OLD.size_bytes END;
      BEGIN
        IF change <> 0 THEN
          INSERT INTO project_storage VALUES (coalesce(NEW.project_id, OLD.project_id), change)
          ON CONFLICT (project_id) DO UPDATE SET bytes = project_storage.bytes + excluded.bytes;
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER workspaces_storage AFTER INSERT OR DELETE OR UPDATE OF size_bytes ON workspaces
        FOR EACH ROW EXECUTE FUNCTION count_workspace_storage();
      ALTER TABLE workspaces SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
        autovacuum_vacuum_insert_scale_factor = 0.05)`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

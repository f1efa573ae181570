import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ManifestStorage1800000000020 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- The manifest of a workspace counts in the storage of the project, too: links and empty files have no other bytes. It is the
      -- first object; of versions that were stored before, its bytes are not known.
      CREATE OR REPLACE FUNCTION count_workspace_storage() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        change bigint := CASE WHEN TG_OP = 'DELETE' THEN 0 ELSE NEW.size_bytes + coalesce(NEW.object_bytes[1], 0) END
          - CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE OLD.size_bytes + coalesce(OLD.object_bytes[1], 0) END;
      BEGIN
        IF change <> 0 THEN
          INSERT INTO project_storage VALUES (coalesce(NEW.project_id, OLD.project_id), change)
          ON CONFLICT (project_id) DO UPDATE SET bytes = project_storage.bytes + excluded.bytes;
        END IF;
        RETURN NULL;
      END $$;
      CREATE OR REPLACE TRIGGER workspaces_storage AFTER INSERT OR DELETE OR UPDATE OF size_bytes, object_bytes ON workspaces
        FOR EACH ROW EXECUTE FUNCTION count_workspace_storage();
      INSERT INTO project_storage
        SELECT project_id, sum(object_bytes[1]) FROM workspaces WHERE object_bytes[1] > 0 GROUP BY project_id
        ON CONFLICT (project_id) DO UPDATE SET bytes = project_storage.bytes + excluded.bytes`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

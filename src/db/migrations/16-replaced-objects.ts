import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ReplacedObjects1800000000016 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Objects that a version of a workspace had and the next one has not, and when that was: storage maintenance keeps them for a
      -- while, for downloads that began before, and for a backup of the database whose copy of the storage is not complete.
      CREATE TABLE replaced_objects (
        key text COLLATE "C" NOT NULL,
        replaced_at timestamptz NOT NULL
      );
      CREATE INDEX replaced_objects_key ON replaced_objects (key);

      CREATE FUNCTION note_replaced_objects() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO replaced_objects SELECT key, clock_timestamp() FROM unnest(OLD.objects) AS key
        WHERE TG_OP = 'DELETE' OR key <> ALL (NEW.objects);
        RETURN NULL;
      END $$;
      CREATE TRIGGER workspaces_objects AFTER DELETE OR UPDATE OF objects ON workspaces
        FOR EACH ROW EXECUTE FUNCTION note_replaced_objects();
      ALTER TABLE replaced_objects SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
        autovacuum_vacuum_insert_scale_factor = 0.05)`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

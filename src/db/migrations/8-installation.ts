import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The id of this installation: what the file storage is marked with. */
export class Installation1700000000008 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE installation (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        is_only boolean NOT NULL DEFAULT true UNIQUE CHECK (is_only)
      );
      INSERT INTO installation DEFAULT VALUES;
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

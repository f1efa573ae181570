import type { MigrationInterface, QueryRunner } from 'typeorm';

export class MigrationFingerprints1800000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- The SHA-256 of the file of each migration that ran (src/db/migrations/index.ts).
      CREATE TABLE migration_fingerprints (
        name text COLLATE "C" PRIMARY KEY,
        sha256 text COLLATE "C" NOT NULL
      )`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

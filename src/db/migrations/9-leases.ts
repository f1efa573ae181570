import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Leases of processes, and when the reconciler last looked at a turn. */
export class Leases1700000000009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE leases (
        name text PRIMARY KEY,
        holder text NOT NULL,
        until timestamptz NOT NULL
      );
      ALTER TABLE turns ADD COLUMN checked_at timestamptz;
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

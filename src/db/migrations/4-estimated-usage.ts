import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How many model calls of a turn have usage that their server did not report (contract.md §10). */
export class EstimatedUsage1800000000004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE turns ADD COLUMN estimated_calls integer NOT NULL DEFAULT 0');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The time a turn waits for answers, counted like its other phases. */
export class WaitingTime1700000000020 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE turns
        DROP COLUMN waiting_since,
        DROP COLUMN waiting_ms,
        -- Time spent so far; started_at is set while calls wait for an answer and nothing runs.
        ADD COLUMN waiting_time interval,
        ADD COLUMN waiting_started_at timestamptz;
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index.js';

/** Ended schedules leave the limit of a project and are removed later; a schedule names the key that created it. */
export class EndedSchedules1800000000005 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE schedules ADD COLUMN IF NOT EXISTS key_id text COLLATE "C"');
    await createIndexConcurrently(
      runner,
      'schedules_going_on',
      `ON schedules (project_id) WHERE deleted_at IS NULL AND state <> 'ended'`,
    );
    // Deleted ones have ended, too.
    await createIndexConcurrently(runner, 'schedules_ended', `ON schedules (updated_at) WHERE state = 'ended'`);
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS schedules_deleted');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

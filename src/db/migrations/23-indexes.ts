import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index.js';

/**
 * Drops the indexes that no query reads (docs/operations/database.md lists those that stay). `turns_waiting` cost the most:
 * each write to a turn changed its column, so Postgres wrote to every index of `turns` each time.
 */
export class Indexes1700000000023 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    for (const index of ['turns_waiting', 'turns_ended', 'required_actions_undelivered']) {
      await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`);
    }
    await runner.query('ALTER TABLE events DROP CONSTRAINT IF EXISTS events_id');
    await createIndexConcurrently(
      runner,
      'sessions_retention',
      'ON sessions (metadata_updated_at) WHERE deleted_at IS NULL',
    );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

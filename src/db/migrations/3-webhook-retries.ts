import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index.js';

/** Retries of webhook deliveries are claimed by project, as first attempts are. */
export class WebhookRetries1800000000003 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // When the last delivery that `retry-failed` scheduled becomes due: the next request continues after it.
    await runner.query('ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS retries_until timestamptz');
    await createIndexConcurrently(
      runner,
      'webhook_deliveries_retries',
      `ON webhook_deliveries (project_id, wake_at) WHERE state = 'pending' AND attempt_count > 0`,
    );
    await createIndexConcurrently(
      runner,
      'webhook_deliveries_started',
      `ON webhook_deliveries (project_id, wake_at) WHERE state = 'pending' AND wake_at > next_attempt_at`,
    );
    // It sorts the retries of all projects together.
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS webhook_deliveries_retried');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

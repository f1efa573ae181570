import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index.js';

export class AnswersOfResources1800000000019 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // The resource that the request is about: its deletion empties the answers, which contain messages and names.
    await runner.query('ALTER TABLE idempotency_records ADD COLUMN IF NOT EXISTS resource_id text COLLATE "C"');
    await createIndexConcurrently(
      runner,
      'idempotency_records_resource',
      'ON idempotency_records (resource_id) WHERE resource_id IS NOT NULL',
    );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

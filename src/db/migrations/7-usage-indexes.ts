import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index.js';

/** What maintenance looks for in turn_usage: rows that are not summed yet, and old rows with metadata. */
export class UsageIndexes1800000000007 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      runner,
      'turn_usage_unsummed',
      'ON turn_usage (project_id, ended_at) WHERE NOT is_summed',
    );
    await createIndexConcurrently(
      runner,
      'turn_usage_metadata',
      `ON turn_usage (ended_at) WHERE metadata::text <> '{}'`,
    );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

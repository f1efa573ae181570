import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index.js';

/** Finds the turns that wait for answers: the gauges of waiting turns read by it. */
export class WaitingIndex1700000000021 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      runner,
      'turns_waiting',
      'ON turns (progress_at) WHERE waiting_started_at IS NOT NULL',
    );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

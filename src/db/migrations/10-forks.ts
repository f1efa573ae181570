import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index.js';

/** Sessions that began as a copy of another one's turns (src/turns/fork). */
export class Forks1800000000010 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // The session and the last turn that was copied, by their ids at that time: both may be deleted since.
    await runner.query(`ALTER TABLE sessions
      ADD COLUMN IF NOT EXISTS forked_from_session_id text COLLATE "C",
      ADD COLUMN IF NOT EXISTS forked_from_turn_id text COLLATE "C"`);
    // The turn that was copied, or the one that it was copied from: the objects of its results are stored under this id.
    await runner.query(`ALTER TABLE turns ADD COLUMN IF NOT EXISTS copied_from text COLLATE "C"`);
    await createIndexConcurrently(runner, 'turns_copied', 'ON turns (copied_from) WHERE copied_from IS NOT NULL');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

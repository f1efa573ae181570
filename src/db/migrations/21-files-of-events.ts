import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index.js';

/** The events of a session that name files, which each command looks for: a session may have thousands of messages without any. */
export class FilesOfEvents1800000000021 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      runner,
      'events_files',
      `ON events (session_id, turn_number, position)
       WHERE type = 'agent.file' OR (type = 'user.message' AND json_array_length(data->'files') > 0)`,
    );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

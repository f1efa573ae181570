import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index.js';

export class TokenUploads1800000000012 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // The session with whose token a file was uploaded: its tokens see the file, and their uploads have a limit together.
    await runner.query('ALTER TABLE files ADD COLUMN IF NOT EXISTS token_session_id text COLLATE "C"');
    await createIndexConcurrently(
      runner,
      'files_token_session',
      'ON files (token_session_id) WHERE token_session_id IS NOT NULL',
    );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

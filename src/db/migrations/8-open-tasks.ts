import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index.js';

export class OpenTasks1800000000008 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // The call counts as an open task of its turn and project: from before it is sent as one until it has its result. Null
    // otherwise, so that other calls are not in the index, and Postgres updates their rows in place.
    await runner.query('ALTER TABLE tool_calls ADD COLUMN IF NOT EXISTS holds_task boolean');
    // When its server was last asked for it together with other tasks.
    await runner.query('ALTER TABLE mcp_tasks ADD COLUMN IF NOT EXISTS asked_at timestamptz');
    await createIndexConcurrently(runner, 'tool_calls_tasks', 'ON tool_calls (turn_id) WHERE holds_task');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

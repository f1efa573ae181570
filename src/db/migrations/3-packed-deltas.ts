import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Deltas as packed rows in partitions of ten minutes (src/stream/delta-partitions creates and drops them). */
export class PackedDeltas1700000000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE deltas;

      -- Stream-only fragments, kept for resuming. A row holds what one model call streamed between two flushes.
      -- No foreign key and no unique key: a flush that is sent twice leaves a copy, which readers skip by its numbers.
      CREATE TABLE deltas (
        stored_at timestamptz NOT NULL DEFAULT statement_timestamp(),
        turn_id text NOT NULL,
        -- The turn's last stored event when the model call began, and which call it is after that.
        position integer NOT NULL,
        attempt integer NOT NULL,
        -- The number of the last delta in the row.
        last integer NOT NULL,
        message_id text NOT NULL,
        -- JSON: runs of deltas of one type, each [type, content, content, …].
        runs text NOT NULL
      ) PARTITION BY RANGE (stored_at);
      CREATE INDEX deltas_place ON deltas (turn_id, position, attempt, last);
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

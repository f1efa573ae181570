import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index.js';

export class FoldedPreviews1800000000023 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- The preview without differences of case (src/platform/fold-case). Null without a preview, and until a round of the reconciler
      -- has folded the one that a version before wrote.
      ALTER TABLE sessions ADD COLUMN IF NOT EXISTS preview_folded text COLLATE "C";
      -- The same from the end of the first turn on, for searches in the order of this table.
      ALTER TABLE session_states ADD COLUMN IF NOT EXISTS preview_folded text COLLATE "C";

      CREATE OR REPLACE FUNCTION note_end_of_turn() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        turn record;
      BEGIN
        SELECT number, transition_at INTO turn FROM turns WHERE id = OLD.turn_id;
        IF FOUND THEN
          UPDATE session_states s SET active_at = greatest(active_at, turn.transition_at),
            row_bytes = row_bytes + row_bytes_of_turns(OLD.session_id, turn.number, turn.number),
            preview_folded = CASE WHEN turn.number > 1 THEN preview_folded
              ELSE coalesce((SELECT r.preview_folded FROM sessions r WHERE r.id = OLD.session_id), preview_folded) END
          WHERE session_id = OLD.session_id;
        END IF;
        RETURN NULL;
      END $$;
    `);
    await createIndexConcurrently(
      runner,
      'sessions_unfolded',
      'ON sessions (id) WHERE preview IS NOT NULL AND preview_folded IS NULL',
    );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

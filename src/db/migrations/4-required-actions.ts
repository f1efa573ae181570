import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A person in the loop (contract.md §6): tools of a session, and calls that wait for an answer. */
export class RequiredActions1700000000004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE sessions
        -- As the client gave them, and the custom ones with schemas that a model's API accepts.
        ADD COLUMN tools json NOT NULL DEFAULT '[]',
        ADD COLUMN model_tools json NOT NULL DEFAULT '[]';

      ALTER TABLE turns
        -- Since when the turn waits with nothing under way, and how long it waited before that; null: never.
        ADD COLUMN waiting_since timestamptz,
        ADD COLUMN waiting_ms bigint;

      -- Calls that need an answer. planned → open (asked) → allowed, denied, answered or expired; cancelled with the turn.
      CREATE TABLE required_actions (
        turn_id text NOT NULL,
        step integer NOT NULL,
        index integer NOT NULL,
        session_id text NOT NULL,
        tool_use_id text NOT NULL,
        kind text NOT NULL CHECK (kind IN ('tool_confirmation', 'custom_tool_result')),
        state text NOT NULL DEFAULT 'planned'
          CHECK (state IN ('planned', 'open', 'allowed', 'denied', 'answered', 'expired', 'cancelled')),
        asked_at timestamptz,
        expires_at timestamptz,
        -- The stored user event that answers the call.
        answer_position integer,
        answered_at timestamptz,
        -- When the workflow took the answer over; until then the reconciler signals it again.
        taken_at timestamptz,
        PRIMARY KEY (turn_id, step, index),
        FOREIGN KEY (turn_id, step, index) REFERENCES tool_calls ON DELETE CASCADE,
        CHECK ((state = 'planned') = (asked_at IS NULL) OR state = 'cancelled'),
        CHECK ((asked_at IS NULL) = (expires_at IS NULL)),
        CHECK ((state IN ('allowed', 'denied', 'answered')) = (answer_position IS NOT NULL)),
        CHECK ((answer_position IS NULL) = (answered_at IS NULL)),
        CHECK (state NOT IN ('allowed', 'denied') OR kind = 'tool_confirmation'),
        CHECK (state <> 'answered' OR kind = 'custom_tool_result')
      );
      CREATE INDEX required_actions_use ON required_actions (session_id, tool_use_id);
      CREATE INDEX required_actions_open ON required_actions (asked_at) WHERE state = 'open';
      CREATE INDEX required_actions_undelivered ON required_actions (answered_at)
        WHERE answered_at IS NOT NULL AND taken_at IS NULL;
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

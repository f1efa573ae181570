import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Totals on a turn's row, and a turn queued in one statement. */
export class Turns1700000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- What the terminal event reports. Written with each step, so that the end of a turn sums nothing up.
      ALTER TABLE turns
        -- As the model's API counts: input_tokens without what came from or went to its cache.
        ADD COLUMN input_tokens bigint NOT NULL DEFAULT 0,
        ADD COLUMN output_tokens bigint NOT NULL DEFAULT 0,
        ADD COLUMN cache_read_input_tokens bigint NOT NULL DEFAULT 0,
        ADD COLUMN cache_creation_input_tokens bigint NOT NULL DEFAULT 0,
        -- Every call, failed ones included. The number of the latest call fences off the ones before it.
        ADD COLUMN model_calls integer NOT NULL DEFAULT 0,
        -- Time spent so far; started_at is set while a model call or at least one tool call runs.
        ADD COLUMN model_time interval,
        ADD COLUMN model_started_at timestamptz,
        ADD COLUMN tools_time interval,
        ADD COLUMN tools_started_at timestamptz,
        ADD COLUMN tools_running integer NOT NULL DEFAULT 0;

      -- Turns that are open while this runs.
      UPDATE turns SET
        (input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens, model_calls, model_time) = (
          SELECT coalesce(sum((usage->>'input_tokens')::bigint), 0),
            coalesce(sum((usage->>'output_tokens')::bigint), 0),
            coalesce(sum((usage->>'cache_read_input_tokens')::bigint), 0),
            coalesce(sum((usage->>'cache_creation_input_tokens')::bigint), 0),
            count(*), sum(ended_at - model_attempts.started_at)
          FROM model_attempts WHERE turn_id = turns.id),
        tools_time = (
          SELECT sum(took) FROM (
            SELECT max(ended_at) - min(started_at) AS took FROM tool_calls
            WHERE turn_id = turns.id AND ended_at IS NOT NULL GROUP BY step) AS steps),
        (tools_running, tools_started_at) = (
          SELECT count(*), min(started_at) FROM tool_calls WHERE turn_id = turns.id AND tool_calls.state = 'started')
      WHERE state IN ('queued', 'running');

      -- Locks a project and a session, and reads what a new turn is decided by. Each statement has a snapshot of its own:
      -- the last one sees what the locks' last holders left.
      CREATE FUNCTION lock_for_new_turn(the_project text, the_session text)
      RETURNS TABLE (model_id text, mcp_servers integer, turn_count integer, last_state text, open_turns bigint,
        max_running_turns integer)
      LANGUAGE plpgsql AS $$
      #variable_conflict use_column
      BEGIN
        PERFORM FROM projects WHERE id = the_project FOR NO KEY UPDATE;
        PERFORM FROM sessions WHERE id = the_session AND project_id = the_project FOR NO KEY UPDATE;
        RETURN QUERY
          SELECT s.model_id, cardinality(s.mcp_servers), s.turn_count,
            (SELECT state FROM turns WHERE turns.id = s.last_turn_id),
            (SELECT count(*) FROM turns WHERE turns.project_id = the_project AND state IN ('queued', 'running')),
            p.max_running_turns
          FROM sessions s JOIN projects p ON p.id = s.project_id
          WHERE s.id = the_session AND s.project_id = the_project AND s.deleted_at IS NULL;
      END $$;
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

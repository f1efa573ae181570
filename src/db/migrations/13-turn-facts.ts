import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The times, the usage and the cost of a turn follow from its rows (src/turns/timing, src/turns/spent), so each wait has its
 * beginning and its end. Columns of `turns` that summed up the same stay for the version before: tokens, clocks and counts of running
 * calls. `cost` is written at the end of a turn.
 */
export class TurnFacts1800000000013 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- When the wait ended. With the end of its turn, if that closed it.
      ALTER TABLE required_actions ADD COLUMN closed_at timestamptz;
      ALTER TABLE elicitations ADD COLUMN closed_at timestamptz;
      UPDATE required_actions a SET closed_at = coalesce(answered_at, CASE state WHEN 'expired' THEN expires_at END)
      FROM open_turns o WHERE o.turn_id = a.turn_id AND a.state NOT IN ('planned', 'open');
      UPDATE elicitations q SET closed_at = CASE q.state
          WHEN 'answered' THEN (
            SELECT e.created_at FROM events e JOIN turns t ON t.session_id = e.session_id AND t.number = e.turn_number
            WHERE t.id = q.turn_id AND e.position = q.answer_position)
          WHEN 'expired' THEN q.expires_at ELSE q.asked_at END
      FROM open_turns o WHERE o.turn_id = q.turn_id AND q.state <> 'open';

      -- Waits of a step for a larger budget: -1, -2 and so on.
      ALTER TABLE required_actions DROP CONSTRAINT required_actions_check;
      ALTER TABLE required_actions
        ADD CONSTRAINT required_actions_check CHECK ((kind = 'budget') = (index < 0)) NOT VALID;

      -- Refuses a turn that is opened already, if its project has no room for it. Where the project has little room left, turns wait
      -- for each other's commits, and the count after the lock sees what was committed before. With more room than Postgres has
      -- connections there is no lock: turns that counted then and commit later, after others took the room, exceed the limit by
      -- their number, at most the connections. A limit of up to max_connections is never exceeded.
      CREATE FUNCTION admit_turn(the_project text) RETURNS void LANGUAGE plpgsql AS $$
      DECLARE
        most integer;
        taken bigint;
        connections integer := current_setting('max_connections')::integer;
      BEGIN
        SELECT max_running_turns INTO most FROM projects WHERE id = the_project;
        -- A limit within the number of connections needs the lock whatever is taken.
        IF most > connections THEN
          SELECT count(*) INTO taken FROM open_turns WHERE project_id = the_project;
          IF taken + connections <= most THEN
            RETURN;
          END IF;
        END IF;
        PERFORM pg_advisory_xact_lock(hashtextextended('new turn ' || the_project, 0));
        SELECT count(*) INTO taken FROM open_turns WHERE project_id = the_project;
        IF taken > most THEN
          RAISE EXCEPTION 'the project has no room for another turn' USING ERRCODE = 'AS429', DETAIL = most::text;
        END IF;
      END $$;

      -- For workers of the version before, which run beside this one during an upgrade, or after a return to them. They count on the
      -- turn's row what this version reads from other rows. A later version drops all of it.
      ALTER TABLE turns ADD COLUMN is_summed_up boolean NOT NULL DEFAULT false;

      CREATE FUNCTION length_of(spans tstzmultirange) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
        SELECT coalesce(sum(upper(span) - lower(span)), '0') FROM unnest(spans) AS span
      $$;
      CREATE FUNCTION span_of(since timestamptz, until timestamptz) RETURNS tstzmultirange LANGUAGE sql IMMUTABLE AS $$
        SELECT tstzmultirange(tstzrange(since, greatest(since, until)))
      $$;
      -- As src/turns/timing and src/turns/spent.
      CREATE FUNCTION turn_counts(the_turn text, the_currency text, until timestamptz) RETURNS TABLE (
        input_tokens bigint, output_tokens bigint, cache_read bigint, cache_creation bigint, estimated integer, cost numeric,
        model interval, tools interval, waiting interval, task interval, model_runs boolean, tools_run integer,
        tasks_run integer, waits boolean) LANGUAGE sql STABLE AS $$
        WITH attempts AS (
            SELECT a.*, span_of(started_at, least(coalesce(ended_at, until),
              lead(started_at, 1, until) OVER (ORDER BY started_at, position, attempt))) AS span,
              row_number() OVER (ORDER BY started_at DESC, position DESC, attempt DESC) = 1 AS is_last
            FROM model_attempts a WHERE turn_id = the_turn),
          calls AS (
            SELECT c.state, c.ended_at IS NULL AND open IS NOT TRUE AS runs,
              span_of(c.started_at, coalesce(c.ended_at, until)) - coalesce(asked, '{}') AS tool,
              span_of(m.created_at, coalesce(c.ended_at, until)) - coalesce(asked, '{}') AS task
            FROM tool_calls c LEFT JOIN mcp_tasks m USING (turn_id, step, index) LEFT JOIN LATERAL (
              SELECT range_agg(span_of(asked_at, coalesce(closed_at, until))) AS asked, bool_or(closed_at IS NULL) AS open
              FROM elicitations q WHERE q.turn_id = the_turn AND q.step = c.step AND q.index = c.index) AS questions ON true
            WHERE c.turn_id = the_turn AND c.started_at IS NOT NULL),
          tools AS (
            SELECT coalesce(range_agg(tool), '{}') AS tool, coalesce(range_agg(task), '{}') AS task,
              (count(*) FILTER (WHERE runs))::integer AS runs,
              (count(*) FILTER (WHERE runs AND state = 'task'))::integer AS tasks
            FROM calls),
          waits AS (
            SELECT coalesce(range_agg(span_of(asked_at, coalesce(closed_at, until))), '{}') AS span,
              coalesce(bool_or(closed_at IS NULL), false) AS open
            FROM (
              SELECT asked_at, closed_at FROM required_actions WHERE turn_id = the_turn AND asked_at IS NOT NULL
              UNION ALL SELECT asked_at, closed_at FROM elicitations WHERE turn_id = the_turn) AS asked)
        SELECT coalesce(sum((usage->>'input_tokens')::bigint), 0)::bigint,
          coalesce(sum((usage->>'output_tokens')::bigint), 0)::bigint,
          coalesce(sum((usage->>'cache_read_input_tokens')::bigint), 0)::bigint,
          coalesce(sum((usage->>'cache_creation_input_tokens')::bigint), 0)::bigint,
          (count(*) FILTER (WHERE usage->>'estimated' = 'true'))::integer,
          coalesce(sum(attempts.cost) FILTER (WHERE currency = the_currency), 0),
          CASE WHEN count(attempts.turn_id) > 0 THEN length_of(range_agg(attempts.span)) END,
          CASE WHEN tools.tool <> '{}' THEN length_of(tools.tool) END,
          CASE WHEN waits.span - tools.tool <> '{}' THEN length_of(waits.span - tools.tool) END,
          CASE WHEN tools.task <> '{}' THEN length_of(tools.task) END,
          coalesce(bool_or(is_last AND attempts.ended_at IS NULL), false), tools.runs, tools.tasks, waits.open
        FROM tools CROSS JOIN waits LEFT JOIN attempts ON true
        GROUP BY tools.tool, tools.task, tools.runs, tools.tasks, waits.span, waits.open
      $$;

      -- The version before ends a turn: its terminal event says what the row does. It adds the usage of the last call in the same
      -- statement, which the call's row does not have yet.
      CREATE FUNCTION sum_up_turn() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        counts record;
      BEGIN
        SELECT * INTO counts FROM turn_counts(NEW.id, NEW.currency, NEW.ended_at);
        NEW.input_tokens := counts.input_tokens + NEW.input_tokens - OLD.input_tokens;
        NEW.output_tokens := counts.output_tokens + NEW.output_tokens - OLD.output_tokens;
        NEW.cache_read_input_tokens := counts.cache_read + NEW.cache_read_input_tokens - OLD.cache_read_input_tokens;
        NEW.cache_creation_input_tokens :=
          counts.cache_creation + NEW.cache_creation_input_tokens - OLD.cache_creation_input_tokens;
        NEW.estimated_calls := counts.estimated + NEW.estimated_calls - OLD.estimated_calls;
        NEW.cost := counts.cost + NEW.cost - OLD.cost;
        NEW.model_time := counts.model;
        NEW.tools_time := counts.tools;
        NEW.waiting_time := counts.waiting;
        NEW.task_time := counts.task;
        NEW.model_started_at := NULL;
        NEW.tools_started_at := NULL;
        NEW.waiting_started_at := NULL;
        NEW.task_started_at := NULL;
        RETURN NEW;
      END $$;
      CREATE TRIGGER turns_summed_up BEFORE UPDATE ON turns FOR EACH ROW
        WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND NOT NEW.is_summed_up) EXECUTE FUNCTION sum_up_turn();

      -- For a return to the version before: called once after the last process of this version has ended.
      CREATE FUNCTION count_open_turns() RETURNS void LANGUAGE sql AS $$
        UPDATE turns t SET input_tokens = c.input_tokens, output_tokens = c.output_tokens,
          cache_read_input_tokens = c.cache_read, cache_creation_input_tokens = c.cache_creation,
          estimated_calls = c.estimated, cost = c.cost, model_time = c.model, tools_time = c.tools, waiting_time = c.waiting,
          task_time = c.task, tools_running = tools_run, tasks_running = tasks_run,
          model_started_at = CASE WHEN model_runs THEN now() END,
          tools_started_at = CASE WHEN tools_run > 0 THEN now() END,
          task_started_at = CASE WHEN tasks_run > 0 THEN now() END,
          waiting_started_at = CASE WHEN waits AND tools_run = 0 THEN now() END
        FROM open_turns o JOIN turns r ON r.id = o.turn_id CROSS JOIN LATERAL turn_counts(r.id, r.currency, now()) AS c
        WHERE t.id = o.turn_id
      $$;

      -- The version before does not write the end of a wait, and opens the wait for a budget again in the same row.
      CREATE FUNCTION close_wait() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.closed_at := clock_timestamp();
        RETURN NEW;
      END $$;
      CREATE TRIGGER required_actions_closed BEFORE UPDATE ON required_actions FOR EACH ROW
        WHEN (OLD.state = 'open' AND NEW.state <> 'open' AND NEW.closed_at IS NULL) EXECUTE FUNCTION close_wait();
      CREATE TRIGGER elicitations_closed BEFORE UPDATE ON elicitations FOR EACH ROW
        WHEN (OLD.state = 'open' AND NEW.state <> 'open' AND NEW.closed_at IS NULL) EXECUTE FUNCTION close_wait();
      CREATE FUNCTION keep_wait() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        kept required_actions := OLD;
      BEGIN
        SELECT min(index) - 1 INTO kept.index FROM required_actions WHERE turn_id = OLD.turn_id AND step = OLD.step;
        INSERT INTO required_actions SELECT kept.*;
        NEW.closed_at := NULL;
        RETURN NEW;
      END $$;
      CREATE TRIGGER required_actions_reopened BEFORE UPDATE ON required_actions FOR EACH ROW
        WHEN (OLD.kind = 'budget' AND OLD.state <> 'open' AND NEW.state = 'open') EXECUTE FUNCTION keep_wait();`);
    await runner.query('ALTER TABLE required_actions VALIDATE CONSTRAINT required_actions_check');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

-- Takes over a database of before 1.0.0, from the section after its last migration on (src/db/adopt.ts): what 1-baseline.sql explains is
-- not said again here. Sections of migrations that ran without a transaction may find a part of their work done.

-- 17 kept-workspaces

ALTER TABLE workspaces
  ADD COLUMN turn_number integer NOT NULL DEFAULT 0,
  ADD COLUMN object_bytes bigint[] NOT NULL DEFAULT '{}',
  ADD COLUMN began text CHECK (began IN ('exact', 'later'));
UPDATE workspaces SET turn_number = turn_count FROM sessions WHERE sessions.id = session_id;

CREATE TABLE kept_workspaces (
  session_id text COLLATE "C" NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  turn_number integer NOT NULL,
  project_id text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  objects text[] COLLATE "C" NOT NULL,
  object_bytes bigint[] NOT NULL,
  cwd text NOT NULL,
  size_bytes bigint NOT NULL,
  file_count integer NOT NULL,
  updated_at timestamptz,
  own_bytes bigint NOT NULL,
  PRIMARY KEY (session_id, turn_number)
);
CREATE INDEX kept_workspaces_objects ON kept_workspaces USING gin (objects);

CREATE FUNCTION keep_workspace() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.turn_number > OLD.turn_number THEN
    INSERT INTO kept_workspaces VALUES (OLD.session_id, OLD.turn_number, OLD.project_id, OLD.version, OLD.objects,
      OLD.object_bytes, OLD.cwd, OLD.size_bytes, OLD.file_count, OLD.updated_at, 0);
    DELETE FROM kept_workspaces WHERE session_id = OLD.session_id AND turn_number < (
      SELECT max(turn_number) FROM kept_workspaces
      WHERE session_id = OLD.session_id AND turn_number <= NEW.turn_number - 20);
  END IF;
  UPDATE kept_workspaces SET own_bytes = (
    SELECT coalesce(sum(bytes), 0) FROM unnest(objects, object_bytes) AS own (key, bytes) WHERE key <> ALL (NEW.objects))
  WHERE session_id = NEW.session_id AND turn_number = (
    SELECT max(turn_number) FROM kept_workspaces WHERE session_id = NEW.session_id);
  RETURN NULL;
END $$;
CREATE TRIGGER workspaces_kept AFTER UPDATE OF objects, turn_number ON workspaces
  FOR EACH ROW EXECUTE FUNCTION keep_workspace();

CREATE FUNCTION count_kept_storage() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  change bigint := CASE WHEN TG_OP = 'DELETE' THEN 0 ELSE NEW.own_bytes END
    - CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE OLD.own_bytes END;
BEGIN
  IF change <> 0 THEN
    INSERT INTO project_storage VALUES (coalesce(NEW.project_id, OLD.project_id), change)
    ON CONFLICT (project_id) DO UPDATE SET bytes = project_storage.bytes + excluded.bytes;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER kept_workspaces_storage AFTER INSERT OR DELETE OR UPDATE OF own_bytes ON kept_workspaces
  FOR EACH ROW EXECUTE FUNCTION count_kept_storage();
CREATE TRIGGER kept_workspaces_replaced AFTER DELETE ON kept_workspaces
  FOR EACH ROW EXECUTE FUNCTION note_replaced_objects();
ALTER TABLE kept_workspaces SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05);

-- 18 left-out-tools

ALTER TABLE mcp_servers ADD COLUMN IF NOT EXISTS tools_left_out integer NOT NULL DEFAULT 0;

-- 19 answers-of-resources

ALTER TABLE idempotency_records ADD COLUMN IF NOT EXISTS resource_id text COLLATE "C";
DROP INDEX IF EXISTS idempotency_records_resource;
CREATE INDEX idempotency_records_resource ON idempotency_records (resource_id) WHERE resource_id IS NOT NULL;

-- 20 manifest-storage

CREATE OR REPLACE FUNCTION count_workspace_storage() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  change bigint := CASE WHEN TG_OP = 'DELETE' THEN 0 ELSE NEW.size_bytes + coalesce(NEW.object_bytes[1], 0) END
    - CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE OLD.size_bytes + coalesce(OLD.object_bytes[1], 0) END;
BEGIN
  IF change <> 0 THEN
    INSERT INTO project_storage VALUES (coalesce(NEW.project_id, OLD.project_id), change)
    ON CONFLICT (project_id) DO UPDATE SET bytes = project_storage.bytes + excluded.bytes;
  END IF;
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER workspaces_storage AFTER INSERT OR DELETE OR UPDATE OF size_bytes, object_bytes ON workspaces
  FOR EACH ROW EXECUTE FUNCTION count_workspace_storage();
INSERT INTO project_storage
  SELECT project_id, sum(object_bytes[1]) FROM workspaces WHERE object_bytes[1] > 0 GROUP BY project_id
  ON CONFLICT (project_id) DO UPDATE SET bytes = project_storage.bytes + excluded.bytes;

-- 21 files-of-events

DROP INDEX IF EXISTS events_files;
CREATE INDEX events_files ON events (session_id, turn_number, position)
  WHERE type = 'agent.file' OR (type = 'user.message' AND json_array_length(data->'files') > 0);

-- 22 row-bytes

ALTER TABLE project_storage ADD COLUMN IF NOT EXISTS row_bytes bigint NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS row_byte_changes (
  project_id text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL
);
ALTER TABLE row_byte_changes SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05);
ALTER TABLE session_states ADD COLUMN IF NOT EXISTS row_bytes bigint;

CREATE OR REPLACE FUNCTION note_row_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  change bigint := CASE WHEN TG_OP = 'DELETE' THEN 0 ELSE coalesce(NEW.row_bytes, 0) END
    - CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE coalesce(OLD.row_bytes, 0) END;
BEGIN
  IF change <> 0 THEN
    INSERT INTO row_byte_changes VALUES (coalesce(NEW.project_id, OLD.project_id), change);
  END IF;
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER session_states_bytes AFTER INSERT OR DELETE OR UPDATE OF row_bytes ON session_states
  FOR EACH ROW EXECUTE FUNCTION note_row_bytes();

CREATE OR REPLACE FUNCTION note_waiting_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO row_byte_changes
    SELECT project_id, 500 + octet_length(NEW.data::text) FROM sessions WHERE id = NEW.session_id;
  ELSE
    INSERT INTO row_byte_changes
    SELECT project_id, -500 - octet_length(OLD.data::text) FROM sessions WHERE id = OLD.session_id;
  END IF;
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER waiting_messages_bytes AFTER INSERT OR DELETE ON waiting_messages
  FOR EACH ROW EXECUTE FUNCTION note_waiting_bytes();

CREATE OR REPLACE FUNCTION row_bytes_of_turns(the_session text, first integer, last integer) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
  events bigint;
  others bigint;
BEGIN
  SELECT coalesce(sum(500 + pg_column_size(e.data)), 0) INTO events FROM events e
  WHERE e.session_id = the_session AND e.turn_number BETWEEN first AND last;
  SELECT coalesce(sum(1000 + 500 * t.model_calls
      + (SELECT coalesce(sum(500 + pg_column_size(s.content)), 0) FROM model_steps s WHERE s.turn_id = t.id)
      + (SELECT coalesce(sum(500 + pg_column_size(c.input) + coalesce(pg_column_size(c.content), 0)), 0)
         FROM tool_calls c WHERE c.turn_id = t.id)
      + (SELECT coalesce(sum(500 + coalesce(pg_column_size(s.offered_tools), 0)), 0)
         FROM turn_servers s WHERE s.turn_id = t.id)), 0) INTO others FROM turns t
  WHERE t.session_id = the_session AND t.number BETWEEN first AND last;
  RETURN events + others;
END $$;

CREATE OR REPLACE FUNCTION note_end_of_turn() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  turn record;
BEGIN
  SELECT number, transition_at INTO turn FROM turns WHERE id = OLD.turn_id;
  IF FOUND THEN
    UPDATE session_states SET active_at = greatest(active_at, turn.transition_at),
      row_bytes = row_bytes + row_bytes_of_turns(OLD.session_id, turn.number, turn.number)
    WHERE session_id = OLD.session_id;
  END IF;
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER open_turns_end AFTER DELETE ON open_turns
  FOR EACH ROW EXECUTE FUNCTION note_end_of_turn();
DROP TRIGGER IF EXISTS turns_activity ON turns;
DROP FUNCTION IF EXISTS note_activity();
DROP INDEX IF EXISTS session_states_uncounted;
CREATE INDEX session_states_uncounted ON session_states (session_id) WHERE row_bytes IS NULL;

-- 23 folded-previews

ALTER TABLE sessions ADD COLUMN IF NOT EXISTS preview_folded text COLLATE "C";
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
DROP INDEX IF EXISTS sessions_unfolded;
CREATE INDEX sessions_unfolded ON sessions (id) WHERE preview IS NOT NULL AND preview_folded IS NULL;

-- 24 token-streams

CREATE TABLE token_streams (
  session_id text COLLATE "C" NOT NULL,
  slot smallint NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  lease text COLLATE "C" NOT NULL REFERENCES leases (name) ON DELETE CASCADE,
  PRIMARY KEY (session_id, slot)
);
CREATE INDEX token_streams_lease ON token_streams (lease);
ALTER TABLE token_streams SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- 26 without-the-past

-- Times, usage and cost of a turn follow from the rows of its calls and waits (src/turns/timing, src/turns/spent).
DROP TRIGGER turns_summed_up ON turns;
DROP TRIGGER IF EXISTS required_actions_closed ON required_actions;
DROP TRIGGER IF EXISTS required_actions_reopened ON required_actions;
DROP TRIGGER IF EXISTS elicitations_closed ON elicitations;
DROP FUNCTION sum_up_turn, count_open_turns, turn_counts, length_of, span_of, close_wait, keep_wait, lock_session_for_turn;
ALTER TABLE turns
  DROP COLUMN model_time, DROP COLUMN model_started_at, DROP COLUMN tools_time, DROP COLUMN tools_started_at,
  DROP COLUMN tools_running, DROP COLUMN waiting_time, DROP COLUMN waiting_started_at, DROP COLUMN task_time,
  DROP COLUMN task_started_at, DROP COLUMN tasks_running, DROP COLUMN input_tokens, DROP COLUMN output_tokens,
  DROP COLUMN cache_read_input_tokens, DROP COLUMN cache_creation_input_tokens, DROP COLUMN estimated_calls,
  DROP COLUMN is_summed_up;
ALTER TABLE model_steps DROP COLUMN created_at;

ALTER TABLE model_attempts DROP COLUMN joined_by;
ALTER TABLE model_attempts RENAME TO model_calls;
ALTER TABLE model_calls RENAME COLUMN attempt TO call;
ALTER INDEX model_attempts_pkey RENAME TO model_calls_pkey;
ALTER TABLE deltas RENAME COLUMN attempt TO call;

UPDATE turn_usage SET is_first = NOT EXISTS (
  SELECT FROM turn_usage o WHERE o.turn_id = turn_usage.turn_id AND o.model_id < turn_usage.model_id)
WHERE is_first IS NULL;
ALTER TABLE turn_usage ALTER COLUMN is_first SET NOT NULL;

-- As src/sessions/row-bytes and the ends of turns count.
UPDATE session_states SET row_bytes = coalesce((
  SELECT 1500 + pg_column_size(s.tools) + pg_column_size(s.model_tools) + coalesce(pg_column_size(s.instruction), 0)
    + octet_length(s.metadata::text) + row_bytes_of_turns(s.id, 1, (
      SELECT coalesce(max(number), 0) FROM turns WHERE turns.session_id = s.id AND turns.ended_at IS NOT NULL))
  FROM sessions s WHERE s.id = session_states.session_id), 0)
WHERE row_bytes IS NULL;
DROP INDEX session_states_uncounted;
ALTER TABLE session_states ALTER COLUMN row_bytes SET NOT NULL, ALTER COLUMN active_at DROP DEFAULT;
CREATE OR REPLACE FUNCTION note_row_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  change bigint := CASE WHEN TG_OP = 'DELETE' THEN 0 ELSE NEW.row_bytes END
    - CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE OLD.row_bytes END;
BEGIN
  IF change <> 0 THEN
    INSERT INTO row_byte_changes VALUES (coalesce(NEW.project_id, OLD.project_id), change);
  END IF;
  RETURN NULL;
END $$;
DROP INDEX sessions_unfolded;

-- 27 waits

CREATE TABLE waits (
  turn_id text COLLATE "C" NOT NULL,
  step integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  index integer,
  tool_use_id text COLLATE "C",
  kind text NOT NULL,
  ask json NOT NULL,
  during_call boolean NOT NULL,
  state text NOT NULL DEFAULT 'planned' CHECK (state IN ('planned', 'open', 'closed')),
  outcome text CHECK (outcome IN
    ('allowed', 'denied', 'answered', 'authorized', 'withdrawn', 'lost', 'expired', 'cancelled')),
  asked_at timestamptz,
  expires_at timestamptz,
  closed_at timestamptz,
  answer_position integer,
  taken_at timestamptz,
  PRIMARY KEY (turn_id, step, id),
  CHECK ((index IS NULL) = (tool_use_id IS NULL)),
  CHECK ((state = 'closed') = (outcome IS NOT NULL)),
  CHECK ((state = 'closed') = (closed_at IS NOT NULL)),
  CHECK (CASE state WHEN 'planned' THEN asked_at IS NULL WHEN 'open' THEN asked_at IS NOT NULL ELSE true END),
  CHECK ((asked_at IS NULL) = (expires_at IS NULL)),
  CHECK (answer_position IS NULL OR state = 'closed')
);

-- Waits that ended before their ends were recorded have the times that their timelines showed.
INSERT INTO waits (turn_id, step, id, session_id, index, tool_use_id, kind, ask, during_call, state, outcome, asked_at,
  expires_at, closed_at, answer_position, taken_at)
SELECT a.turn_id, step, format('wait_%s_%s', step, index), a.session_id, CASE WHEN kind <> 'budget' THEN index END,
  tool_use_id, kind,
  CASE kind WHEN 'budget' THEN json_build_object('needed', needed_cost::text) ELSE '{}' END, false,
  CASE WHEN a.state IN ('planned', 'open') THEN a.state ELSE 'closed' END,
  CASE WHEN a.state NOT IN ('planned', 'open') THEN a.state END, asked_at, expires_at,
  CASE WHEN a.state NOT IN ('planned', 'open') THEN coalesce(closed_at, answered_at,
    CASE a.state WHEN 'expired' THEN least(expires_at, t.ended_at) ELSE t.ended_at END, asked_at, clock_timestamp()) END,
  answer_position,
  CASE WHEN a.state = 'expired' THEN coalesce(taken_at, closed_at, expires_at) ELSE taken_at END
FROM required_actions a LEFT JOIN turns t ON t.id = a.turn_id;

INSERT INTO waits (turn_id, step, id, session_id, index, tool_use_id, kind, ask, during_call, state, outcome, asked_at,
  expires_at, closed_at, answer_position, taken_at)
SELECT w.turn_id, step, format('wait_%s_%s_%s', step, index, n), w.session_id, index, tool_use_id, 'mcp_authorization',
  json_build_object('mcp_server_id', mcp_server_id, 'end_user', end_user), false,
  CASE WHEN w.state IN ('planned', 'open') THEN w.state ELSE 'closed' END,
  CASE WHEN w.state NOT IN ('planned', 'open') THEN w.state END, asked_at, expires_at,
  CASE WHEN w.state NOT IN ('planned', 'open') THEN coalesce(closed_at, t.ended_at, asked_at, clock_timestamp()) END,
  answer_position, taken_at
FROM authorization_waits w LEFT JOIN turns t ON t.id = w.turn_id;

INSERT INTO waits (turn_id, step, id, session_id, index, tool_use_id, kind, ask, during_call, state, outcome, asked_at,
  expires_at, closed_at, answer_position, taken_at)
SELECT q.turn_id, q.step, q.id, q.session_id, q.index, c.tool_use_id, 'elicitation',
  json_build_object('mode', mode, 'message', message, 'requested_schema', requested_schema, 'url', url, 'request', request),
  true, CASE q.state WHEN 'open' THEN 'open' ELSE 'closed' END, CASE WHEN q.state <> 'open' THEN q.state END, q.asked_at,
  q.expires_at,
  CASE WHEN q.state <> 'open' THEN coalesce(q.closed_at, CASE q.state WHEN 'answered' THEN e.created_at
    WHEN 'expired' THEN q.expires_at WHEN 'withdrawn' THEN c.ended_at WHEN 'lost' THEN c.ended_at END,
    t.ended_at, q.asked_at) END,
  q.answer_position, q.delivered_at
FROM elicitations q JOIN tool_calls c USING (turn_id, step, index) LEFT JOIN turns t ON t.id = q.turn_id
  LEFT JOIN events e ON e.session_id = t.session_id AND e.turn_number = t.number AND e.position = q.answer_position;

CREATE INDEX waits_open ON waits (turn_id) WHERE state <> 'closed';
CREATE INDEX waits_use ON waits (session_id, tool_use_id);
CREATE INDEX waits_question ON waits (id) WHERE kind = 'elicitation';
CREATE INDEX waits_of_user ON waits (((ask->>'mcp_server_id') COLLATE "C"), ((ask->>'end_user') COLLATE "C"))
  WHERE kind = 'mcp_authorization' AND state <> 'closed';
ALTER TABLE waits SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05);

DROP TABLE required_actions, elicitations, authorization_waits;

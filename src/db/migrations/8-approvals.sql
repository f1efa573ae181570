-- Input that a person changes, approvals that are remembered, copies that session tokens make.

-- What a person has put in place of the model's input: the call runs with it. Null: with what the model wrote.
ALTER TABLE tool_calls ADD COLUMN changed_input json;

-- Tools whose calls a person has allowed for a session, each as it was then. At most 100 of a session (src/sessions/remembered-approvals).
CREATE TABLE remembered_approvals (
  session_id text COLLATE "C" NOT NULL REFERENCES sessions ON DELETE CASCADE,
  -- Empty for a built-in tool.
  server_id text COLLATE "C" NOT NULL,
  -- The server's own name of the tool.
  tool_name text COLLATE "C" NOT NULL,
  -- The order in which they were remembered.
  number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  -- Of the tool, as the person saw it.
  digest text COLLATE "C" NOT NULL,
  -- The name that the model knew.
  name text NOT NULL,
  tool_use_id text COLLATE "C" NOT NULL,
  actor text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (session_id, server_id, tool_name)
);

-- A session with the copies that its tokens make, and their copies. They have one budget and the limits of one session. The id is that
-- of the first session, which may be deleted.
CREATE TABLE session_families (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL,
  -- What deleted sessions of it have spent.
  spent numeric NOT NULL DEFAULT 0
);
CREATE TABLE family_sessions (
  session_id text COLLATE "C" PRIMARY KEY,
  family_id text COLLATE "C" NOT NULL REFERENCES session_families ON DELETE CASCADE,
  is_deleted boolean NOT NULL DEFAULT false
);
CREATE INDEX family_sessions_family ON family_sessions (family_id);

-- What the end of a session leaves to its family. The family goes with the last one.
CREATE FUNCTION leave_family() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  the_family text;
BEGIN
  SELECT family_id INTO the_family FROM family_sessions WHERE session_id = NEW.id;
  IF FOUND THEN
    UPDATE session_families SET spent = spent + coalesce((
      SELECT cost_before + cost FROM turns WHERE id = NEW.last_turn_id), 0) WHERE id = the_family;
    UPDATE family_sessions SET is_deleted = true WHERE session_id = NEW.id;
    DELETE FROM session_families WHERE id = the_family
      AND NOT EXISTS (SELECT FROM family_sessions WHERE family_id = the_family AND NOT is_deleted);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER sessions_family AFTER UPDATE OF deleted_at ON sessions
  FOR EACH ROW WHEN (OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION leave_family();

-- What a model call may cost at most, where a family has a budget: until it ends, the others count that.
ALTER TABLE model_calls ADD COLUMN reserved numeric;

-- What the sessions of a family have spent by now, with the reserves of the calls under way unless they are those of this turn.
CREATE FUNCTION family_spent(the_family text, own_turn text, with_reserves boolean) RETURNS numeric LANGUAGE sql STABLE AS $$
  SELECT f.spent + coalesce((
    SELECT sum(t.cost_before + CASE WHEN t.ended_at IS NOT NULL THEN t.cost ELSE (
      SELECT coalesce(sum(CASE
        WHEN with_reserves AND t.id <> own_turn AND a.ended_at IS NULL AND a.call = t.model_calls
          THEN greatest(a.cost, a.reserved)
        ELSE a.cost END), 0)
      FROM model_calls a WHERE a.turn_id = t.id AND a.currency = t.currency) END)
    FROM family_sessions m JOIN sessions s ON s.id = m.session_id JOIN turns t ON t.id = s.last_turn_id
    WHERE m.family_id = the_family AND NOT m.is_deleted), 0)
  FROM session_families f WHERE f.id = the_family
$$;

-- Files of other sessions that the tokens of a copy see: those that the copied events name, and the tokens of the old session saw.
CREATE TABLE token_files (
  session_id text COLLATE "C" NOT NULL REFERENCES sessions ON DELETE CASCADE,
  file_id text COLLATE "C" NOT NULL REFERENCES files ON DELETE CASCADE,
  PRIMARY KEY (session_id, file_id)
);
CREATE INDEX token_files_file ON token_files (file_id);

-- False: a fork that has not changed it yet, which names only objects of the session that it was copied from.
ALTER TABLE workspaces ADD COLUMN is_counted boolean NOT NULL DEFAULT true;
CREATE OR REPLACE FUNCTION count_workspace_storage() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  change bigint := CASE WHEN TG_OP <> 'DELETE' AND NEW.is_counted THEN NEW.size_bytes + coalesce(NEW.object_bytes[1], 0) ELSE 0 END
    - CASE WHEN TG_OP <> 'INSERT' AND OLD.is_counted THEN OLD.size_bytes + coalesce(OLD.object_bytes[1], 0) ELSE 0 END;
BEGIN
  IF change <> 0 THEN
    INSERT INTO project_storage VALUES (coalesce(NEW.project_id, OLD.project_id), change)
    ON CONFLICT (project_id) DO UPDATE SET bytes = project_storage.bytes + excluded.bytes;
  END IF;
  RETURN NULL;
END $$;
DROP TRIGGER workspaces_storage ON workspaces;
CREATE TRIGGER workspaces_storage AFTER INSERT OR DELETE OR UPDATE OF size_bytes, object_bytes, is_counted ON workspaces
  FOR EACH ROW EXECUTE FUNCTION count_workspace_storage();

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
      + (SELECT coalesce(sum(500 + pg_column_size(c.input) + coalesce(pg_column_size(c.changed_input), 0)
           + coalesce(pg_column_size(c.content), 0)), 0)
         FROM tool_calls c WHERE c.turn_id = t.id)
      + (SELECT coalesce(sum(500 + coalesce(pg_column_size(s.offered_tools), 0)), 0)
         FROM turn_servers s WHERE s.turn_id = t.id)), 0) INTO others FROM turns t
  WHERE t.session_id = the_session AND t.number BETWEEN first AND last;
  RETURN events + others;
END $$;

DO $$
DECLARE
  large text;
BEGIN
  FOREACH large IN ARRAY ARRAY['remembered_approvals', 'session_families', 'family_sessions', 'token_files'] LOOP
    EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
      autovacuum_vacuum_insert_scale_factor = 0.05)', large);
  END LOOP;
END $$;

-- What turns run with. Rows are inserted and never changed, so that a turn keeps its configuration whatever its session becomes.
CREATE TABLE configurations (
  -- That of a session's own configuration is the id of the session.
  id text COLLATE "C" PRIMARY KEY,
  model_id text NOT NULL,
  thinking_enabled boolean NOT NULL,
  instruction text,
  mcp_servers text[] NOT NULL,
  -- As the client gave them, and the custom ones with schemas that a model's API accepts.
  tools json NOT NULL,
  model_tools json NOT NULL,
  fallback_model_ids text[] NOT NULL,
  page_bytes integer NOT NULL GENERATED ALWAYS AS (
    octet_length(tools::text) + coalesce(octet_length(instruction), 0)) STORED
);
ALTER TABLE configurations SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05);

-- No references, whose checks cost a statement and a row's lock each: a configuration is removed after its turns (src/sessions/purge).
ALTER TABLE sessions ADD COLUMN configuration_id text COLLATE "C";
ALTER TABLE turns ADD COLUMN configuration_id text COLLATE "C";

-- A session is inserted with its own configuration, whose row this makes. The columns of `sessions` stay for processes of the build
-- before, which insert and read them; nothing else reads them.
CREATE FUNCTION store_configuration() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO configurations (id, model_id, thinking_enabled, instruction, mcp_servers, tools, model_tools, fallback_model_ids)
  VALUES (NEW.id, NEW.model_id, NEW.thinking_enabled, NEW.instruction, NEW.mcp_servers, NEW.tools, NEW.model_tools,
    NEW.fallback_model_ids);
  NEW.configuration_id := NEW.id;
  RETURN NEW;
END $$;
CREATE TRIGGER sessions_configuration BEFORE INSERT ON sessions
  FOR EACH ROW WHEN (NEW.configuration_id IS NULL) EXECUTE FUNCTION store_configuration();

-- A turn that a process of the build before opens.
CREATE FUNCTION give_configuration() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.configuration_id := NEW.session_id;
  RETURN NEW;
END $$;
CREATE TRIGGER turns_configuration BEFORE INSERT ON turns
  FOR EACH ROW WHEN (NEW.configuration_id IS NULL) EXECUTE FUNCTION give_configuration();

-- Memories: small text files that agents keep between sessions (src/memories).

CREATE TABLE memories (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects,
  -- Whose it is: a user's, an agent's, that of a user with one agent; without either the project's.
  end_user text COLLATE "C",
  agent_id text COLLATE "C",
  -- Counts its changes. Its row is locked by whoever changes it.
  version integer NOT NULL DEFAULT 0,
  file_count integer NOT NULL DEFAULT 0,
  -- Of its files.
  size_bytes bigint NOT NULL DEFAULT 0,
  -- The rows of memory_versions, and the bytes of their texts.
  version_count integer NOT NULL DEFAULT 0,
  version_bytes bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT memories_owner UNIQUE NULLS NOT DISTINCT (project_id, end_user, agent_id)
);
CREATE INDEX memories_list ON memories (project_id, created_at DESC, id DESC);
CREATE INDEX memories_agent ON memories (project_id, agent_id) WHERE agent_id IS NOT NULL;

CREATE TABLE memory_files (
  memory_id text COLLATE "C" NOT NULL REFERENCES memories ON DELETE CASCADE,
  -- Within the memory: /a.md.
  path text COLLATE "C" NOT NULL,
  text text NOT NULL,
  size_bytes integer NOT NULL,
  sha256 bytea NOT NULL,
  -- The version of the memory that gave it this text and path, and the one that made the file: a rename keeps that.
  version integer NOT NULL,
  created_version integer NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  session_id text COLLATE "C",
  turn_id text COLLATE "C",
  key_id text COLLATE "C",
  PRIMARY KEY (memory_id, path)
);

-- What became of each file in each change. The text that a file has now is in memory_files alone.
CREATE TABLE memory_versions (
  memory_id text COLLATE "C" NOT NULL REFERENCES memories ON DELETE CASCADE,
  version integer NOT NULL,
  path text COLLATE "C" NOT NULL,
  change text COLLATE "C" NOT NULL CHECK (change IN ('created', 'modified', 'deleted')),
  -- Null for a deleted file.
  size_bytes integer,
  sha256 bytea,
  -- Null for a deleted file, and as long as it is the text of memory_files.
  text text,
  created_version integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  session_id text COLLATE "C",
  turn_id text COLLATE "C",
  key_id text COLLATE "C",
  PRIMARY KEY (memory_id, version, path)
);
CREATE INDEX memory_versions_path ON memory_versions (memory_id, path, version);
-- For maintenance.
CREATE INDEX memory_versions_age ON memory_versions (created_at);

-- Adds the bytes of memories to those of files, skills and workspaces.
CREATE FUNCTION count_memory_storage() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  change bigint := CASE WHEN TG_OP = 'DELETE' THEN 0 ELSE NEW.size_bytes + NEW.version_bytes END
    - CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE OLD.size_bytes + OLD.version_bytes END;
BEGIN
  IF change <> 0 THEN
    INSERT INTO project_storage VALUES (coalesce(NEW.project_id, OLD.project_id), change)
    ON CONFLICT (project_id) DO UPDATE SET bytes = project_storage.bytes + excluded.bytes;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER memories_storage AFTER INSERT OR DELETE OR UPDATE OF size_bytes, version_bytes ON memories
  FOR EACH ROW EXECUTE FUNCTION count_memory_storage();

ALTER TABLE memories SET (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05);
ALTER TABLE memory_files SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05);
ALTER TABLE memory_versions SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05);

-- Configurations with a name and versions, of which sessions are made.
CREATE TABLE agents (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects,
  name text COLLATE "C" NOT NULL,
  -- The number of the newest version. All from 1 on exist, each with its configuration: the id of the agent, @ and the number.
  version integer NOT NULL,
  -- With which the turns of sessions begin that follow the agent. It stays when the agent is deleted.
  live_version integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  deleted_at timestamptz
);
CREATE UNIQUE INDEX agents_name ON agents (project_id, name) WHERE deleted_at IS NULL;
CREATE INDEX agents_list ON agents (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;

CREATE TABLE agent_versions (
  agent_id text COLLATE "C" NOT NULL REFERENCES agents,
  version integer NOT NULL,
  description text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (agent_id, version)
);

-- What a session has instead of fields of its agent's configuration, as the client gave it. Rows never change: turns name them.
CREATE TABLE session_overrides (
  session_id text COLLATE "C" NOT NULL,
  number integer NOT NULL,
  overrides json NOT NULL,
  PRIMARY KEY (session_id, number)
);
ALTER TABLE session_overrides SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05);

-- Ids of skills, and {"name": …} for the skill that has this name when a turn begins.
ALTER TABLE configurations ADD COLUMN skills json NOT NULL DEFAULT '[]';

ALTER TABLE sessions
  ADD COLUMN agent_id text COLLATE "C",
  -- Null: it follows the agent, and has no configuration_id.
  ADD COLUMN agent_version integer,
  ADD COLUMN overrides_number integer,
  ALTER COLUMN model_id DROP NOT NULL,
  ALTER COLUMN thinking_enabled DROP NOT NULL,
  ALTER COLUMN mcp_servers DROP NOT NULL;
DROP TRIGGER sessions_configuration ON sessions;
CREATE TRIGGER sessions_configuration BEFORE INSERT ON sessions
  FOR EACH ROW WHEN (NEW.configuration_id IS NULL AND NEW.agent_id IS NULL) EXECUTE FUNCTION store_configuration();

-- What the turn began with; null without an agent. agent_skills: those of the agent, as a message shows its own.
ALTER TABLE turns
  ADD COLUMN agent_id text COLLATE "C",
  ADD COLUMN agent_version integer,
  ADD COLUMN overrides_number integer,
  ADD COLUMN agent_skills json;

ALTER TABLE turn_usage
  ADD COLUMN agent_id text COLLATE "C",
  ADD COLUMN agent_version integer;

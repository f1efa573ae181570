-- The schema of version 1.0.0. Later changes are files of their own, in the order of their numbers.

CREATE TABLE projects (
  id text COLLATE "C" PRIMARY KEY,
  name text COLLATE "C" NOT NULL CONSTRAINT projects_name UNIQUE,
  max_running_turns integer NOT NULL DEFAULT 100 CHECK (max_running_turns > 0),
  -- Requests a minute of each operation: 0 for no limit, null for that of all projects.
  rate_per_minute integer CHECK (rate_per_minute >= 0),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE api_keys (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects,
  name text,
  key_hash bytea NOT NULL CONSTRAINT api_keys_hash UNIQUE,
  scopes text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz,
  -- Cut to the hour.
  last_used_at timestamptz
);

CREATE TABLE skills (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects,
  name text COLLATE "C" NOT NULL,
  description text NOT NULL,
  size_bytes bigint NOT NULL,
  storage_key text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  deleted_at timestamptz
);
CREATE UNIQUE INDEX skills_name ON skills (project_id, name) WHERE deleted_at IS NULL;
CREATE INDEX skills_list ON skills (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;

CREATE FUNCTION mcp_tool_list(tools json) RETURNS json LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(json_agg(json_build_object('name', tool->'name', 'description', tool->'description') ORDER BY n), '[]')
  FROM json_array_elements(tools) WITH ORDINALITY AS listed (tool, n)
$$;
CREATE FUNCTION mcp_toolset_hash(tools json) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT encode(sha256(convert_to(tools::text, 'UTF8')), 'hex')
$$;

CREATE TABLE mcp_servers (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects,
  name text COLLATE "C" NOT NULL,
  url text COLLATE "C" NOT NULL,
  auth_type text NOT NULL CHECK (auth_type IN ('NONE', 'BEARER', 'HEADER', 'OAUTH')),
  auth_header text,
  credential text,
  credential_version integer NOT NULL DEFAULT 1,
  -- Whose credential a turn uses: the server's own, or that of the session's user.
  credentials text NOT NULL DEFAULT 'shared' CHECK (credentials IN ('shared', 'user')),
  allowed_tools text[],
  tools json NOT NULL,
  -- What clients see of the tools: no schemas, which are large.
  tool_list json NOT NULL GENERATED ALWAYS AS (mcp_tool_list(tools)) STORED,
  toolset_hash text COLLATE "C" NOT NULL GENERATED ALWAYS AS (mcp_toolset_hash(tools)) STORED,
  -- Tools that the server lists and the service does not keep.
  tools_left_out integer NOT NULL DEFAULT 0,
  pin_tools boolean NOT NULL DEFAULT false,
  -- The version of the tools that a person accepted, where they are pinned.
  accepted_hash text COLLATE "C",
  changed_tools json NOT NULL DEFAULT '[]',
  -- Bytes of the columns in a page that can be large, so that a page is measured without reading them.
  page_bytes integer NOT NULL GENERATED ALWAYS AS (
    octet_length(mcp_tool_list(tools)::text) + octet_length(changed_tools::text)) STORED,
  server_name text,
  last_probed_at timestamptz,
  last_connected_at timestamptz,
  last_connect_error text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  deleted_at timestamptz
);
CREATE UNIQUE INDEX mcp_servers_name ON mcp_servers (project_id, name) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX mcp_servers_url ON mcp_servers (project_id, url) WHERE deleted_at IS NULL;
CREATE INDEX mcp_servers_list ON mcp_servers (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;

-- The versions of a server's tools that turns refer to, and the accepted one. Rows never change.
CREATE TABLE mcp_toolsets (
  server_id text COLLATE "C" NOT NULL REFERENCES mcp_servers,
  hash text COLLATE "C" NOT NULL,
  tools json NOT NULL,
  PRIMARY KEY (server_id, hash)
);

-- The credential of a user for a server. That of type OAUTH has a row in mcp_oauth with the same id.
CREATE TABLE user_credentials (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects,
  mcp_server_id text COLLATE "C" NOT NULL REFERENCES mcp_servers,
  end_user text COLLATE "C" NOT NULL,
  auth_type text NOT NULL CHECK (auth_type IN ('BEARER', 'HEADER', 'OAUTH')),
  auth_header text,
  -- Sealed; null for OAUTH.
  credential text,
  -- Incremented when it is replaced or authorized: an open connection may use an older one.
  credential_version integer NOT NULL DEFAULT 1,
  -- When the server refused this version; null: calls may use it.
  refused_at timestamptz,
  last_used_at timestamptz,
  last_error text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT user_credentials_owner UNIQUE (mcp_server_id, end_user)
);
CREATE INDEX user_credentials_list ON user_credentials (project_id, created_at, id);
CREATE INDEX user_credentials_user ON user_credentials (project_id, end_user);

-- The OAuth side of a server, or of a user's credential for one. client, tokens and code_verifier are sealed.
CREATE TABLE mcp_oauth (
  -- That of the server or of the credential.
  id text COLLATE "C" PRIMARY KEY,
  -- The scopes that the registration names; null: those of the resource's metadata.
  scopes text[],
  client text NOT NULL,
  -- True when the service registered the client by itself (RFC 7591).
  client_is_dynamic boolean NOT NULL,
  -- What the newest discovery found: resource and authorization server.
  discovery json NOT NULL,
  redirect_uri text NOT NULL,
  -- Tokens, with the client and the authorization server that they belong to: the columns above may name others
  -- while a new authorization is under way.
  tokens text,
  tokens_expire_at timestamptz,
  -- The process that refreshes the tokens now; until then no other one may.
  refresh_claim text,
  refresh_claimed_until timestamptz,
  -- Null while authorization is required.
  authorized_at timestamptz,
  -- The authorization under way; of its state only the SHA-256 is stored.
  state_hash bytea CONSTRAINT mcp_oauth_state UNIQUE,
  state_expires_at timestamptz,
  code_verifier text
);

-- A hash of each pair and the project, for the index of metadata. 128 bits of SHA-256: equal hashes are equal pairs.
CREATE FUNCTION metadata_terms(project_id text, metadata json) RETURNS bytea[] LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(array_agg(substr(sha256(convert_to(project_id || ' ' || length(key)::text || ' ' || key || value, 'UTF8')), 1, 16)), '{}')
  FROM json_each_text(metadata)
$$;

CREATE TABLE sessions (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects,
  model_id text NOT NULL,
  thinking_enabled boolean NOT NULL,
  instruction text,
  mcp_servers text[] NOT NULL,
  metadata json NOT NULL,
  -- As the client gave them, and the custom ones with schemas that a model's API accepts.
  tools json NOT NULL DEFAULT '[]',
  model_tools json NOT NULL DEFAULT '[]',
  -- That of its model's price when it was created; null without a price.
  currency text,
  -- The person for whom the agent acts, as the client names them; null: nobody.
  end_user text COLLATE "C",
  fallback_model_ids text[] NOT NULL DEFAULT '{}',
  -- {max_cost, on_reached} as the client gave it; null without one.
  budget json,
  page_bytes integer NOT NULL GENERATED ALWAYS AS (
    octet_length(tools::text) + octet_length(metadata::text) + coalesce(octet_length(instruction), 0)) STORED,
  turn_count integer NOT NULL DEFAULT 0,
  last_turn_id text COLLATE "C",
  -- The beginning of the first message, and the same without differences of case (src/platform/fold-case).
  preview text,
  preview_folded text COLLATE "C",
  -- The session that it was copied from, and the last turn that was copied, by their ids at that time: both may be deleted since.
  forked_from_session_id text COLLATE "C",
  forked_from_turn_id text COLLATE "C",
  metadata_terms bytea[] NOT NULL GENERATED ALWAYS AS (metadata_terms(project_id, metadata)) STORED,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  metadata_updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  deleted_at timestamptz
);
CREATE INDEX sessions_list ON sessions (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX sessions_metadata ON sessions USING gin (metadata_terms) WHERE deleted_at IS NULL;
CREATE INDEX sessions_retention ON sessions (metadata_updated_at) WHERE deleted_at IS NULL;
CREATE INDEX sessions_deleted ON sessions (deleted_at) WHERE deleted_at IS NOT NULL;

-- In which state the last turn that ended left each session; idle before. For lists by status: the state of a session
-- is that of its last turn, and a search for a rare one by the turns of all sessions would take seconds.
CREATE TABLE session_states (
  session_id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('idle', 'completed', 'cancelled', 'failed')),
  -- That of the session.
  created_at timestamptz NOT NULL,
  -- The later of the last change of the session and the end of its last turn that ended. An open turn counts beside it: there are few.
  active_at timestamptz NOT NULL,
  -- That of the session from the end of its first turn on, for searches in the order of this table.
  preview_folded text COLLATE "C",
  -- Of its rows (src/sessions/row-bytes).
  row_bytes bigint NOT NULL
);
CREATE INDEX session_states_list ON session_states (project_id, state, created_at DESC, session_id DESC);
CREATE INDEX session_states_activity ON session_states (project_id, active_at DESC, session_id DESC);
CREATE INDEX session_states_state_activity ON session_states (project_id, state, active_at DESC, session_id DESC);

CREATE TABLE files (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects,
  filename text NOT NULL,
  mime_type text NOT NULL,
  size_bytes bigint NOT NULL,
  origin text NOT NULL CHECK (origin IN ('UPLOAD', 'OUTPUT')),
  session_id text COLLATE "C",
  -- The session with whose token it was uploaded: its tokens see the file, and their uploads have a limit together.
  token_session_id text COLLATE "C",
  storage_key text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  deleted_at timestamptz
);
CREATE INDEX files_list ON files (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX files_session ON files (session_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX files_token_session ON files (token_session_id) WHERE token_session_id IS NOT NULL;
CREATE UNIQUE INDEX files_storage_key ON files (storage_key);
-- Deletions that are not finished.
CREATE INDEX files_deleted ON files (deleted_at) WHERE deleted_at IS NOT NULL;

-- Bytes of each project (MAX_STORAGE_PER_PROJECT), kept by triggers: summing up millions of rows at each upload would take
-- seconds.
CREATE TABLE project_storage (
  project_id text COLLATE "C" PRIMARY KEY,
  -- Of its files, skills and workspaces.
  bytes bigint NOT NULL,
  -- Of the rows of its sessions. A round of the reconciler adds up row_byte_changes, so that no turn waits for this row.
  row_bytes bigint NOT NULL DEFAULT 0
);
CREATE TABLE row_byte_changes (
  project_id text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL
);
CREATE FUNCTION count_storage() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  stored bigint := CASE WHEN TG_OP <> 'DELETE' AND NEW.deleted_at IS NULL THEN NEW.size_bytes ELSE 0 END;
  removed bigint := CASE WHEN TG_OP <> 'INSERT' AND OLD.deleted_at IS NULL THEN OLD.size_bytes ELSE 0 END;
BEGIN
  IF stored <> removed THEN
    INSERT INTO project_storage VALUES (coalesce(NEW.project_id, OLD.project_id), stored - removed)
    ON CONFLICT (project_id) DO UPDATE SET bytes = project_storage.bytes + excluded.bytes;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER files_storage AFTER INSERT OR DELETE OR UPDATE OF deleted_at, size_bytes ON files
  FOR EACH ROW EXECUTE FUNCTION count_storage();
CREATE TRIGGER skills_storage AFTER INSERT OR DELETE OR UPDATE OF deleted_at, size_bytes ON skills
  FOR EACH ROW EXECUTE FUNCTION count_storage();

-- The one truth of a turn (states: src/db/turn-states). position is that of its last stored event. The message is the
-- first event: this row is written often and stays narrow.
CREATE TABLE turns (
  id text COLLATE "C" PRIMARY KEY,
  -- No references, whose checks cost a statement and a row's lock each: a turn is opened under the lock of its session,
  -- which is removed after its turns (src/sessions/purge).
  session_id text COLLATE "C" NOT NULL,
  project_id text COLLATE "C" NOT NULL,
  number integer NOT NULL,
  state text NOT NULL CHECK (state IN ('queued', 'running', 'completed', 'cancelled', 'failed')),
  position integer NOT NULL DEFAULT 0,
  trace text,
  -- What its message asks for; null: what the session has.
  model_id text,
  thinking_enabled boolean,
  -- The fallback model that it goes on with, after its own has failed.
  fallback_model_id text,
  -- The turn that it continues, and the number of the turn whose message both work on.
  continues_turn_id text COLLATE "C",
  message_number integer,
  -- In a fork: the turn that was copied, or the one that it was copied from. The objects of its results are stored under this id.
  copied_from text COLLATE "C",
  -- Its message waited for the turn before.
  from_queue boolean NOT NULL DEFAULT false,
  -- Rows of waiting_messages may exist. Never set back in a turn: the rows decide.
  has_waiting boolean NOT NULL DEFAULT false,
  -- Its stop reason, or the type of its failure.
  end_reason text,
  queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  started_at timestamptz,
  ended_at timestamptz,
  transition_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  cancel_requested_at timestamptz,
  -- Last sign of life: a stored event or a batch of deltas.
  progress_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  connected_at timestamptz,
  connect_ms integer,
  first_token_at timestamptz,
  -- Every call, failed ones included. The number of the latest call fences off the ones before it.
  model_calls integer NOT NULL DEFAULT 0,
  -- What its calls cost at the prices of their time, written at its end, and their currency. is_unpriced: a call had no price, or one
  -- in another currency, and is not in the sum. The same of all turns of the session before it.
  cost numeric NOT NULL DEFAULT 0,
  currency text,
  is_unpriced boolean NOT NULL DEFAULT false,
  cost_before numeric NOT NULL DEFAULT 0,
  was_unpriced boolean NOT NULL DEFAULT false,
  CONSTRAINT turns_number UNIQUE (session_id, number)
);
CREATE INDEX turns_copied ON turns (copied_from) WHERE copied_from IS NOT NULL;

-- The queued and running turns. A partial index of turns would say the same, but each claim and each end would then
-- write to all indexes of turns: Postgres updates a row in place (HOT) only while no index refers to what changes.
CREATE TABLE open_turns (
  turn_id text COLLATE "C" PRIMARY KEY,
  session_id text COLLATE "C" NOT NULL CONSTRAINT open_turns_session UNIQUE,
  project_id text COLLATE "C" NOT NULL,
  -- The Temporal namespace whose workers run the turn.
  namespace text COLLATE "C" NOT NULL,
  -- As in turns: the reconciler looks for cancel requests each second.
  cancel_requested_at timestamptz,
  -- The reconciler's last look at the workflow.
  checked_at timestamptz
);
CREATE INDEX open_turns_project ON open_turns (project_id);

-- Messages that wait for a turn of their own, or for the next model call of the open one. Written and taken under the
-- lock of the open turn's row; without an open turn, under that of the session's row.
CREATE TABLE waiting_messages (
  -- That of its user.message.
  id text COLLATE "C" PRIMARY KEY,
  session_id text COLLATE "C" NOT NULL,
  -- The turn that it will start.
  turn_id text COLLATE "C" NOT NULL,
  -- Number of the turn that it is to steer; 0 without. Messages left over from such a turn go before those with 0.
  steers integer NOT NULL,
  arrival bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  -- The fields of its user.message.
  data json NOT NULL,
  trace text,
  created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX waiting_messages_order ON waiting_messages (session_id, arrival);

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

-- The rows of a turn, from here on, have no reference to it: they are written under the lock of its row (src/turns/change-turn)
-- and deleted with it (src/sessions/purge), and each check of a reference would cost its own statement.

-- Stored events: positions are given while the turn row is locked, gap-free from 1.
CREATE TABLE events (
  id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  turn_id text COLLATE "C" NOT NULL,
  turn_number integer NOT NULL,
  position integer NOT NULL,
  type text COLLATE "C" NOT NULL,
  data json NOT NULL,
  page_bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(data::text)) STORED,
  created_at timestamptz NOT NULL,
  -- Serves the history of the session and the stream of a turn.
  PRIMARY KEY (session_id, turn_number, position)
);
-- An event by its id; the history by types, and the last message of a turn.
CREATE UNIQUE INDEX events_id ON events (id);
CREATE INDEX events_types ON events (session_id, type, turn_number, position);
-- Which files a session has: each command and each model call looks for them, beside thousands of messages without any.
CREATE INDEX events_files ON events (session_id, turn_number, position)
  WHERE type = 'agent.file' OR (type = 'user.message' AND json_array_length(data->'files') > 0);
CREATE UNIQUE INDEX events_one_end ON events (turn_id)
  WHERE type IN ('turn.completed', 'turn.cancelled', 'turn.failed');

-- Stream-only fragments, kept for resuming until a minute after the turn. A row holds what one model call streamed
-- between two flushes. Its partitions of ten minutes are created and dropped by src/stream/delta-partitions.
-- No foreign key and no unique key: a flush that is sent twice leaves a copy, which readers skip by its numbers.
CREATE TABLE deltas (
  stored_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  turn_id text COLLATE "C" NOT NULL,
  -- The turn's last stored event when the model call began, and the number of the call in its turn.
  position integer NOT NULL,
  call integer NOT NULL,
  -- The number of the last delta in the row.
  last integer NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  -- JSON: runs of deltas of one type, each [type, content, content, …].
  runs text NOT NULL
) PARTITION BY RANGE (stored_at);
CREATE INDEX deltas_place ON deltas (turn_id, position, call, last);

-- The session's MCP servers as this turn offers them: renames, probes and deletions take effect from the next one.
CREATE TABLE turn_servers (
  turn_id text COLLATE "C" NOT NULL,
  server_id text COLLATE "C" NOT NULL,
  index integer NOT NULL,
  name text NOT NULL,
  toolset_hash text COLLATE "C" NOT NULL,
  -- The tools of the version that the turn offers; null: all of them.
  offered_tools text[],
  connected boolean NOT NULL,
  -- As the server was when the turn began: a change of mcp_servers.credentials holds from the next turn.
  as_user boolean NOT NULL DEFAULT false,
  PRIMARY KEY (turn_id, server_id)
);

-- Every call of the model, also the failed ones: what they cost counts (decisions.md, usage).
CREATE TABLE model_calls (
  turn_id text COLLATE "C" NOT NULL,
  step integer NOT NULL,
  -- The turn's last stored event when the call began, and the number of the call in its turn: the place of its deltas.
  position integer NOT NULL,
  call integer NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  -- The activity that makes the call: its worker, and the token that names its attempt in Temporal. Copies in forks have no token.
  worker_id text COLLATE "C" NOT NULL,
  task_token bytea,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz,
  -- From the beginning of the call to its first output.
  first_token_ms integer,
  model_id text COLLATE "C" NOT NULL,
  usage json,
  -- What the usage costs at the price of the model when the call began; both are null without a price.
  cost numeric,
  currency text,
  -- {type, message, retryable} once the model itself failed; null while open or when a process died.
  error json,
  PRIMARY KEY (turn_id, position, call)
);

-- The outcome of a step: what the model answered, in the Messages API's own blocks.
CREATE TABLE model_steps (
  turn_id text COLLATE "C" NOT NULL,
  step integer NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  -- The model that answered: no other one is sent its thinking.
  model_id text COLLATE "C" NOT NULL,
  content json NOT NULL,
  stop_reason text NOT NULL,
  PRIMARY KEY (turn_id, step)
);

CREATE TABLE tool_calls (
  turn_id text COLLATE "C" NOT NULL,
  step integer NOT NULL,
  index integer NOT NULL,
  tool_use_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  input json NOT NULL,
  -- pending → started (about to leave for its server) → task (the server works on it, see mcp_tasks) → done
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'started', 'task', 'done')),
  -- What the model gets: blocks of activities/tools/tool, bytes by reference.
  content json,
  is_error boolean,
  -- Counts as an open task of its turn and project: from before it is sent as one until it has its result. Null otherwise, so that
  -- other calls are not in the index, and Postgres updates their rows in place.
  holds_task boolean,
  -- Object with the whole text where content holds a preview of it only.
  overflow_key text COLLATE "C",
  -- The activity that started the call: its worker, and the token that names its attempt in Temporal.
  worker_id text COLLATE "C",
  task_token bytea,
  started_at timestamptz,
  ended_at timestamptz,
  PRIMARY KEY (turn_id, step, index)
);
CREATE INDEX tool_calls_tasks ON tool_calls (turn_id) WHERE holds_task;

-- The tasks that MCP servers have begun for calls.
CREATE TABLE mcp_tasks (
  turn_id text COLLATE "C" NOT NULL,
  step integer NOT NULL,
  index integer NOT NULL,
  server_id text COLLATE "C" NOT NULL,
  task_id text COLLATE "C" NOT NULL,
  -- The MCP session that the task belongs to: {id, protocolVersion}; null for a server without sessions.
  mcp_session json,
  -- What the server said last, and the pause that it asks for.
  status text NOT NULL,
  message text,
  poll_ms integer NOT NULL,
  -- As in the last agent.tool_progress; before the first one what every task begins with.
  shown_status text NOT NULL DEFAULT 'working',
  shown_message text,
  shown_at timestamptz,
  -- How often its result was asked for without an end of the attempt: its worker was lost.
  lost_reads integer NOT NULL DEFAULT 0,
  -- When its server was last asked for it together with other tasks.
  asked_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When its result was stored, unless the service gave it up; when the service told the server to cancel it.
  ended_at timestamptz,
  cancelled_at timestamptz,
  PRIMARY KEY (turn_id, step, index)
);

-- What a turn waits for: a person, a client, the login of a user, a larger budget (src/waits). planned → open (asked) →
-- closed; what is left is closed with the turn.
CREATE TABLE waits (
  turn_id text COLLATE "C" NOT NULL,
  step integer NOT NULL,
  -- Clients know that of a question. A copy of the turn has the same ids.
  id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  -- The call in its step; null: the model call of the step.
  index integer,
  tool_use_id text COLLATE "C",
  kind text NOT NULL,
  -- What the kind keeps of it.
  ask json NOT NULL,
  -- The call runs meanwhile and goes on by itself. Others are taken over by the workflow.
  during_call boolean NOT NULL,
  state text NOT NULL DEFAULT 'planned' CHECK (state IN ('planned', 'open', 'closed')),
  outcome text CHECK (outcome IN
    ('allowed', 'denied', 'answered', 'authorized', 'withdrawn', 'lost', 'expired', 'cancelled')),
  asked_at timestamptz,
  expires_at timestamptz,
  -- Also of a wait that was planned when its turn ended.
  closed_at timestamptz,
  -- The stored user event that answers it.
  answer_position integer,
  -- When the workflow took the outcome over: until then the reconciler signals it again. Of a question during a task: when the
  -- server got the answer, or the word that there is none.
  taken_at timestamptz,
  PRIMARY KEY (turn_id, step, id),
  CHECK ((index IS NULL) = (tool_use_id IS NULL)),
  CHECK ((state = 'closed') = (outcome IS NOT NULL)),
  CHECK ((state = 'closed') = (closed_at IS NOT NULL)),
  CHECK (CASE state WHEN 'planned' THEN asked_at IS NULL WHEN 'open' THEN asked_at IS NOT NULL ELSE true END),
  CHECK ((asked_at IS NULL) = (expires_at IS NULL)),
  CHECK (answer_position IS NULL OR state = 'closed')
);
-- What turns wait for now.
CREATE INDEX waits_open ON waits (turn_id) WHERE state <> 'closed';
-- For answers to calls, which name a tool use.
CREATE INDEX waits_use ON waits (session_id, tool_use_id);
-- For answers to questions, and the calls that wait for them.
CREATE INDEX waits_question ON waits (id) WHERE kind = 'elicitation';
-- For a credential that becomes usable: the calls that wait for it.
CREATE INDEX waits_of_user ON waits (((ask->>'mcp_server_id') COLLATE "C"), ((ask->>'end_user') COLLATE "C"))
  WHERE kind = 'mcp_authorization' AND state <> 'closed';

-- What each turn that ended took of each model that it called, or of the one that it asked for if it called none. Kept
-- for ever: the sums of GET usage outlive the sessions.
CREATE TABLE turn_usage (
  turn_id text COLLATE "C" NOT NULL,
  model_id text COLLATE "C" NOT NULL,
  project_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  -- The time of the terminal event.
  ended_at timestamptz NOT NULL,
  -- The session's at the end of the turn.
  metadata json NOT NULL,
  model_calls integer NOT NULL,
  -- All input, as in the usage of a turn.
  input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  cache_read_input_tokens bigint NOT NULL,
  cache_creation_input_tokens bigint NOT NULL,
  -- Of the calls with a price.
  cost numeric NOT NULL,
  currency text,
  is_unpriced boolean NOT NULL,
  -- Whether it is the first row of its turn, which counts the turn.
  is_first boolean NOT NULL,
  -- Whether usage_sums has the row.
  is_summed boolean NOT NULL DEFAULT false,
  PRIMARY KEY (turn_id, model_id)
);
CREATE INDEX turn_usage_time ON turn_usage (project_id, ended_at);
CREATE INDEX turn_usage_unsummed ON turn_usage (project_id, ended_at) WHERE NOT is_summed;
CREATE INDEX turn_usage_metadata ON turn_usage (ended_at) WHERE metadata::text <> '{}';

-- The sums of GET usage by day (src/turns/usage-sums).
CREATE TABLE usage_sums (
  project_id text COLLATE "C" NOT NULL,
  -- day, model, session or metadata.KEY, and a group of it. metadata: the turns with a key, and the key.
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  -- Of UTC.
  day date NOT NULL,
  -- Empty for turns without one.
  currency text COLLATE "C" NOT NULL,
  turns numeric NOT NULL,
  model_calls numeric NOT NULL,
  input_tokens numeric NOT NULL,
  output_tokens numeric NOT NULL,
  cache_read_input_tokens numeric NOT NULL,
  cache_creation_input_tokens numeric NOT NULL,
  cost numeric NOT NULL,
  -- How many rows of turn_usage have a call without a price.
  unpriced numeric NOT NULL,
  PRIMARY KEY (project_id, kind, name, day, currency)
);

-- A summary stands for every turn of the session up to and with turn_number.
CREATE TABLE compactions (
  session_id text COLLATE "C" NOT NULL,
  turn_number integer NOT NULL,
  summary text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (session_id, turn_number)
);

CREATE TABLE idempotency_records (
  project_id text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  request_hash bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Held by a request under way until then; null once there is a response.
  lease_until timestamptz,
  lease_id text COLLATE "C",
  -- The resource that the request is about: its deletion empties the answers, which contain messages and names.
  resource_id text COLLATE "C",
  status integer,
  response json,
  PRIMARY KEY (project_id, path, key)
);
CREATE INDEX idempotency_records_age ON idempotency_records (created_at);
CREATE INDEX idempotency_records_resource ON idempotency_records (resource_id) WHERE resource_id IS NOT NULL;

CREATE TABLE webhooks (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects,
  url text NOT NULL,
  event_types text[] NOT NULL,
  description text,
  enabled boolean NOT NULL,
  disabled_reason text,
  -- Sealed; null once the webhook is deleted.
  secret text,
  -- Sealed; the secret before the last rotation also signs until previous_secret_until.
  previous_secret text,
  previous_secret_until timestamptz,
  -- The first failed attempt since the last successful one.
  failing_since timestamptz,
  -- When the last delivery that `retry-failed` scheduled becomes due: the next request continues after it.
  retries_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  deleted_at timestamptz
);
CREATE INDEX webhooks_list ON webhooks (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;

CREATE TABLE webhook_deliveries (
  id text COLLATE "C" PRIMARY KEY,
  webhook_id text COLLATE "C" NOT NULL,
  project_id text COLLATE "C" NOT NULL,
  event_type text NOT NULL,
  -- Null for webhook.test.
  event_id text COLLATE "C",
  session_id text COLLATE "C",
  turn_id text COLLATE "C",
  -- The session's metadata at the time of the event.
  metadata json NOT NULL DEFAULT '{}',
  state text COLLATE "C" NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
  -- The latest attempts, oldest first: {at, status, error, duration_ms}.
  attempts json NOT NULL DEFAULT '[]',
  attempt_count integer NOT NULL DEFAULT 0,
  -- Pauses of the schedule that were used up.
  pauses integer NOT NULL DEFAULT 0,
  -- Counts requests to send it again, so that an attempt under way cannot close over one.
  retry_requests integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz,
  -- When the reconciler starts or wakes the workflow, unless an attempt moves it on before.
  wake_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (webhook_id, created_at DESC, id DESC);
CREATE INDEX webhook_deliveries_state ON webhook_deliveries (webhook_id, state, created_at DESC, id DESC);
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);
CREATE INDEX webhook_deliveries_new ON webhook_deliveries (project_id, wake_at)
  WHERE state = 'pending' AND attempt_count = 0;
CREATE INDEX webhook_deliveries_retries ON webhook_deliveries (project_id, wake_at)
  WHERE state = 'pending' AND attempt_count > 0;
CREATE INDEX webhook_deliveries_started ON webhook_deliveries (project_id, wake_at)
  WHERE state = 'pending' AND wake_at > next_attempt_at;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (created_at) WHERE state = 'pending';

-- Schedules (decisions.md "Schedules"): the row is the truth, the schedule in Temporal follows it.
CREATE TABLE schedules (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects,
  -- The key that created it.
  key_id text COLLATE "C",
  name text,
  cron text,
  at timestamptz,
  timezone text NOT NULL,
  -- JSON as the client gave it, with defaults. It is only shown and used whole.
  target text NOT NULL,
  -- The session of a target that exists. No reference: the session can be removed first.
  session_id text COLLATE "C",
  message text NOT NULL,
  overlap text NOT NULL CHECK (overlap IN ('skip', 'queue')),
  end_at timestamptz,
  state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'ended')),
  paused_reason text CHECK (paused_reason IN ('session_deleted', 'failures')),
  -- The earliest time that has neither started a turn nor been skipped.
  next_run_at timestamptz,
  -- Failed turns in a row.
  failures integer NOT NULL DEFAULT 0,
  -- Counts the changes that Temporal has to follow, and the last one that it does.
  version integer NOT NULL DEFAULT 1,
  synced_version integer NOT NULL DEFAULT 0,
  -- When Temporal has to be given further times.
  refill_at timestamptz,
  -- The last time that a late run was asked for.
  checked_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  deleted_at timestamptz,
  CHECK (deleted_at IS NOT NULL OR (cron IS NULL) <> (at IS NULL)),
  CHECK (paused_reason IS NULL OR state = 'paused'),
  CHECK ((state = 'active') = (next_run_at IS NOT NULL))
);
CREATE INDEX schedules_list ON schedules (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX schedules_session ON schedules (session_id) WHERE session_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX schedules_due ON schedules (next_run_at) WHERE state = 'active';
CREATE INDEX schedules_unsynced ON schedules (updated_at) WHERE version <> synced_version;
CREATE INDEX schedules_refill ON schedules (refill_at) WHERE refill_at IS NOT NULL;
CREATE INDEX schedules_going_on ON schedules (project_id) WHERE deleted_at IS NULL AND state <> 'ended';
-- Deleted ones have ended, too.
CREATE INDEX schedules_ended ON schedules (updated_at) WHERE state = 'ended';

-- A deleted session pauses its schedules, whatever deletes it. Schedules are locked after their session everywhere.
CREATE FUNCTION pause_schedules() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE schedules SET state = 'paused', paused_reason = 'session_deleted', next_run_at = NULL,
    version = version + 1, updated_at = clock_timestamp()
  WHERE session_id = NEW.id AND deleted_at IS NULL AND state <> 'ended';
  RETURN NULL;
END $$;
CREATE TRIGGER sessions_schedules AFTER UPDATE OF deleted_at ON sessions
  FOR EACH ROW WHEN (OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION pause_schedules();

-- What became of each time of a schedule. The key lets a time start at most one turn.
CREATE TABLE schedule_runs (
  schedule_id text COLLATE "C" NOT NULL,
  scheduled_at timestamptz NOT NULL,
  -- When the turn started; null for a skipped run, and for one that waited in a queue until its turn has ended.
  started_at timestamptz,
  state text NOT NULL CHECK (state IN ('started', 'skipped')),
  reason text,
  session_id text COLLATE "C",
  turn_id text COLLATE "C",
  -- Its turn has ended and was counted, or there is none.
  is_settled boolean NOT NULL,
  PRIMARY KEY (schedule_id, scheduled_at),
  CHECK ((state = 'skipped') = (reason IS NOT NULL)),
  CHECK ((state = 'started') = (turn_id IS NOT NULL))
);
CREATE INDEX schedule_runs_unsettled ON schedule_runs (schedule_id) WHERE NOT is_settled;
CREATE INDEX schedule_runs_age ON schedule_runs (scheduled_at);

-- Names that one process at a time may hold.
CREATE TABLE leases (
  name text COLLATE "C" PRIMARY KEY,
  holder text COLLATE "C" NOT NULL,
  -- From then on Postgres has answered the holder without a gap.
  since timestamptz NOT NULL DEFAULT clock_timestamp(),
  until timestamptz NOT NULL
);

-- Workers that hold a lease. One that does not renew it in time is dead, and stays dead: its activities go to others.
CREATE TABLE workers (
  -- Its identity in Temporal.
  id text COLLATE "C" PRIMARY KEY,
  namespace text COLLATE "C" NOT NULL,
  task_queue text COLLATE "C" NOT NULL,
  until timestamptz NOT NULL,
  is_draining boolean NOT NULL DEFAULT false,
  dead_at timestamptz
);

-- The newest version of a session's workspace (src/workspaces). A session without one has no row, and neither has one that
-- was deleted.
CREATE TABLE workspaces (
  session_id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL,
  -- Counts the stored changes of the tree.
  version integer NOT NULL,
  -- The turn that stored the version: the version stands at the end of this turn, and of those after it.
  turn_number integer NOT NULL DEFAULT 0,
  -- Keys of its objects: the manifest, then the packs that it names; empty before the first change. A row may name objects
  -- of another session's folder.
  objects text[] COLLATE "C" NOT NULL,
  -- Bytes of its objects, in their order.
  object_bytes bigint[] NOT NULL DEFAULT '{}',
  -- The working directory of the next command.
  cwd text NOT NULL,
  -- Of its regular files.
  size_bytes bigint NOT NULL,
  file_count integer NOT NULL,
  -- When the tree last changed; null before.
  updated_at timestamptz,
  -- In a fork: whether it began as the version that stood at the end of the last copied turn, or as a later one.
  began text CHECK (began IN ('exact', 'later'))
);
-- For maintenance: which objects are still named.
CREATE INDEX workspaces_objects ON workspaces USING gin (objects);

-- Versions that a later turn has replaced, for forks (decisions.md "Forks"). Each stands at the ends of the turns from turn_number on,
-- until the next one.
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
  -- Of its objects that the version after it does not have.
  own_bytes bigint NOT NULL,
  PRIMARY KEY (session_id, turn_number)
);
-- For maintenance, as that of workspaces.
CREATE INDEX kept_workspaces_objects ON kept_workspaces USING gin (objects);

-- Objects that a version of a workspace had and the next one has not, and when that was: storage maintenance keeps them for a
-- while, for downloads that began before, and for a backup of the database whose copy of the storage is not complete.
CREATE TABLE replaced_objects (
  key text COLLATE "C" NOT NULL,
  replaced_at timestamptz NOT NULL
);
CREATE INDEX replaced_objects_key ON replaced_objects (key);

-- Adds the bytes of workspaces to those of files and skills. The manifest, the first object, counts too: links and empty files have
-- no other bytes.
CREATE FUNCTION count_workspace_storage() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER workspaces_storage AFTER INSERT OR DELETE OR UPDATE OF size_bytes, object_bytes ON workspaces
  FOR EACH ROW EXECUTE FUNCTION count_workspace_storage();

-- What is kept counts in the storage of the project.
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

-- Keeps the version that an earlier turn has stored when a turn replaces it, and forgets those that stood at the end of none of the
-- last 20 turns.
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

CREATE FUNCTION note_replaced_objects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO replaced_objects SELECT key, clock_timestamp() FROM unnest(OLD.objects) AS key
  WHERE TG_OP = 'DELETE' OR key <> ALL (NEW.objects);
  RETURN NULL;
END $$;
CREATE TRIGGER workspaces_objects AFTER DELETE OR UPDATE OF objects ON workspaces
  FOR EACH ROW EXECUTE FUNCTION note_replaced_objects();
CREATE TRIGGER kept_workspaces_replaced AFTER DELETE ON kept_workspaces
  FOR EACH ROW EXECUTE FUNCTION note_replaced_objects();

-- The bytes of a session's rows: session_states.row_bytes has them, and each change of it goes to row_byte_changes.
CREATE FUNCTION note_row_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  change bigint := CASE WHEN TG_OP = 'DELETE' THEN 0 ELSE NEW.row_bytes END
    - CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE OLD.row_bytes END;
BEGIN
  IF change <> 0 THEN
    INSERT INTO row_byte_changes VALUES (coalesce(NEW.project_id, OLD.project_id), change);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER session_states_bytes AFTER INSERT OR DELETE OR UPDATE OF row_bytes ON session_states
  FOR EACH ROW EXECUTE FUNCTION note_row_bytes();

-- What a message takes while it waits, as text: a new row is not compressed yet. In its turn it counts as an event.
CREATE FUNCTION note_waiting_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER waiting_messages_bytes AFTER INSERT OR DELETE ON waiting_messages
  FOR EACH ROW EXECUTE FUNCTION note_waiting_bytes();

-- Of the turns of a session with these numbers. The size of a column is that on disk, compressed where Postgres does that, so
-- that no large value is read. Each row counts 500 bytes more, for its other columns and its places in indexes, a turn 1,000.
CREATE FUNCTION row_bytes_of_turns(the_session text, first integer, last integer) RETURNS bigint
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

-- The end of a turn: the row of open_turns goes after the turn's last row has come.
CREATE FUNCTION note_end_of_turn() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER open_turns_end AFTER DELETE ON open_turns
  FOR EACH ROW EXECUTE FUNCTION note_end_of_turn();

-- The open streams of session tokens, over all processes (src/stream/token-streams). A session has a fixed number of slots, and the
-- key lets one stream have each. The slots of a dead process go with its lease.
CREATE TABLE token_streams (
  session_id text COLLATE "C" NOT NULL,
  slot smallint NOT NULL,
  -- Given by the process, so that it can give back a slot of which it does not know whether it got it.
  stream_id text COLLATE "C" NOT NULL,
  lease text COLLATE "C" NOT NULL REFERENCES leases (name) ON DELETE CASCADE,
  PRIMARY KEY (session_id, slot)
);
CREATE INDEX token_streams_lease ON token_streams (lease);

-- The id of this installation: what the file storage is marked with.
CREATE TABLE installation (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  is_only boolean NOT NULL DEFAULT true UNIQUE CHECK (is_only)
);
INSERT INTO installation DEFAULT VALUES;

-- The counters of rate-limiter-flexible.
CREATE TABLE rate_limits (
  key varchar(255) COLLATE "C" PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  expire bigint
);

-- Room for new versions of a row in its page, so that updates stay in place.
ALTER TABLE turns SET (fillfactor = 75);
ALTER TABLE open_turns SET (fillfactor = 75);
ALTER TABLE sessions SET (fillfactor = 85);
ALTER TABLE leases SET (fillfactor = 50);
ALTER TABLE workers SET (fillfactor = 50);
ALTER TABLE rate_limits SET (fillfactor = 50);
-- Few rows, replaced all the time: scans of the table stay short.
ALTER TABLE open_turns SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE token_streams SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Tables without a bound: autovacuum comes after a fiftieth of their rows, not after a fifth.
DO $$
DECLARE
  large text;
BEGIN
  FOREACH large IN ARRAY ARRAY['sessions', 'session_states', 'files', 'turns', 'turn_servers', 'events', 'model_calls', 'model_steps',
    'tool_calls', 'mcp_tasks', 'waits', 'compactions', 'turn_usage', 'usage_sums', 'waiting_messages',
    'idempotency_records', 'webhook_deliveries', 'schedule_runs', 'workspaces', 'kept_workspaces',
    'replaced_objects', 'row_byte_changes'] LOOP
    EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
      autovacuum_vacuum_insert_scale_factor = 0.05)', large);
  END LOOP;
END $$;

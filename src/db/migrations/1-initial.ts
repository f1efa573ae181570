import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Every table of the service. */
export class Initial1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE projects (
        id text PRIMARY KEY,
        name text NOT NULL CONSTRAINT projects_name UNIQUE,
        max_running_turns integer NOT NULL DEFAULT 100 CHECK (max_running_turns > 0),
        created_at timestamptz NOT NULL DEFAULT clock_timestamp()
      );

      CREATE TABLE api_keys (
        id text PRIMARY KEY,
        project_id text NOT NULL REFERENCES projects,
        key_hash bytea NOT NULL CONSTRAINT api_keys_hash UNIQUE,
        scopes text[] NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        expires_at timestamptz,
        revoked_at timestamptz
      );

      CREATE TABLE skills (
        id text PRIMARY KEY,
        project_id text NOT NULL REFERENCES projects,
        name text NOT NULL,
        description text NOT NULL,
        size_bytes bigint NOT NULL,
        storage_key text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        deleted_at timestamptz
      );
      CREATE UNIQUE INDEX skills_name ON skills (project_id, name) WHERE deleted_at IS NULL;
      CREATE INDEX skills_list ON skills (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;

      CREATE TABLE mcp_servers (
        id text PRIMARY KEY,
        project_id text NOT NULL REFERENCES projects,
        name text NOT NULL,
        url text NOT NULL,
        auth_type text NOT NULL CHECK (auth_type IN ('NONE', 'BEARER', 'HEADER')),
        auth_header text,
        credential text,
        credential_version integer NOT NULL DEFAULT 1,
        allowed_tools text[],
        tools json NOT NULL,
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

      CREATE TABLE sessions (
        id text PRIMARY KEY,
        project_id text NOT NULL REFERENCES projects,
        model_id text NOT NULL,
        thinking_enabled boolean NOT NULL,
        instruction text,
        mcp_servers text[] NOT NULL,
        metadata json NOT NULL,
        turn_count integer NOT NULL DEFAULT 0,
        last_turn_id text,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        metadata_updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        deleted_at timestamptz
      );
      CREATE INDEX sessions_list ON sessions (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
      CREATE INDEX sessions_deleted ON sessions (deleted_at) WHERE deleted_at IS NOT NULL;

      CREATE TABLE files (
        id text PRIMARY KEY,
        project_id text NOT NULL REFERENCES projects,
        filename text NOT NULL,
        mime_type text NOT NULL,
        size_bytes bigint NOT NULL,
        origin text NOT NULL CHECK (origin IN ('UPLOAD', 'OUTPUT')),
        session_id text,
        storage_key text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        deleted_at timestamptz
      );
      CREATE INDEX files_list ON files (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
      CREATE INDEX files_session ON files (session_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
      CREATE UNIQUE INDEX files_storage_key ON files (storage_key);
      -- Deletions that are not finished.
      CREATE INDEX files_deleted ON files (deleted_at) WHERE deleted_at IS NOT NULL;

      -- The one truth of a turn (states: src/turns/states). position is that of its last stored event.
      CREATE TABLE turns (
        id text PRIMARY KEY,
        session_id text NOT NULL REFERENCES sessions,
        project_id text NOT NULL REFERENCES projects,
        number integer NOT NULL,
        state text NOT NULL CHECK (state IN ('queued', 'running', 'completed', 'cancelled', 'failed')),
        position integer NOT NULL DEFAULT 0,
        content text NOT NULL,
        files json NOT NULL,
        skills json NOT NULL,
        trace text,
        queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        started_at timestamptz,
        ended_at timestamptz,
        transition_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        cancel_requested_at timestamptz,
        -- Last sign of life: a stored event, a batch of deltas or the reconciler's look at the workflow.
        progress_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        connected_at timestamptz,
        connect_ms integer,
        first_token_at timestamptz,
        CONSTRAINT turns_number UNIQUE (session_id, number)
      );
      CREATE UNIQUE INDEX turns_open_session ON turns (session_id) WHERE state IN ('queued', 'running');
      CREATE INDEX turns_open_project ON turns (project_id) WHERE state IN ('queued', 'running');
      CREATE INDEX turns_ended ON turns (ended_at) WHERE ended_at IS NOT NULL;

      -- Stored events: positions are given while the turn row is locked, gap-free from 1.
      CREATE TABLE events (
        id text NOT NULL CONSTRAINT events_id UNIQUE,
        session_id text NOT NULL,
        turn_id text NOT NULL REFERENCES turns ON DELETE CASCADE,
        turn_number integer NOT NULL,
        position integer NOT NULL,
        type text NOT NULL,
        data json NOT NULL,
        created_at timestamptz NOT NULL,
        PRIMARY KEY (turn_id, position)
      );
      CREATE INDEX events_history ON events (session_id, turn_number, position);
      CREATE UNIQUE INDEX events_one_end ON events (turn_id)
        WHERE type IN ('turn.completed', 'turn.cancelled', 'turn.failed');

      -- Stream-only fragments, kept for resuming until a minute after the turn.
      CREATE TABLE deltas (
        turn_id text NOT NULL REFERENCES turns ON DELETE CASCADE,
        position integer NOT NULL,
        attempt integer NOT NULL,
        number integer NOT NULL,
        type text NOT NULL,
        message_id text NOT NULL,
        content text NOT NULL,
        PRIMARY KEY (turn_id, position, attempt, number)
      );

      -- The session's MCP servers as this turn offers them: renames, probes and deletions take effect from the next one.
      CREATE TABLE turn_servers (
        turn_id text NOT NULL REFERENCES turns ON DELETE CASCADE,
        server_id text NOT NULL,
        index integer NOT NULL,
        name text NOT NULL,
        tools json NOT NULL,
        connected boolean NOT NULL,
        PRIMARY KEY (turn_id, server_id)
      );

      -- Every call of the model, also the failed ones: what they cost counts (contract.md, usage).
      CREATE TABLE model_attempts (
        turn_id text NOT NULL REFERENCES turns ON DELETE CASCADE,
        step integer NOT NULL,
        -- The turn's last stored event when the call began, and which call it is after that: the place of its deltas.
        position integer NOT NULL,
        attempt integer NOT NULL,
        message_id text NOT NULL,
        started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        ended_at timestamptz,
        usage json,
        -- {type, message, retryable} once the model itself failed; null while open or when a process died.
        error json,
        PRIMARY KEY (turn_id, position, attempt)
      );

      -- The outcome of a step: what the model answered, in the Messages API's own blocks.
      CREATE TABLE model_steps (
        turn_id text NOT NULL REFERENCES turns ON DELETE CASCADE,
        step integer NOT NULL,
        message_id text NOT NULL,
        content json NOT NULL,
        stop_reason text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (turn_id, step)
      );

      CREATE TABLE tool_calls (
        turn_id text NOT NULL REFERENCES turns ON DELETE CASCADE,
        step integer NOT NULL,
        index integer NOT NULL,
        tool_use_id text NOT NULL,
        name text NOT NULL,
        input json NOT NULL,
        -- pending → started (about to leave for its server) → done
        state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'started', 'done')),
        -- What the model gets: blocks of activities/tools/tool, bytes by reference.
        content json,
        is_error boolean,
        -- Object with the whole text where content holds a preview of it only.
        overflow_key text,
        started_at timestamptz,
        ended_at timestamptz,
        PRIMARY KEY (turn_id, step, index)
      );

      -- A summary stands for every turn of the session up to and with turn_number.
      CREATE TABLE compactions (
        session_id text NOT NULL,
        turn_number integer NOT NULL,
        summary text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (session_id, turn_number)
      );

      CREATE TABLE idempotency_records (
        project_id text NOT NULL,
        path text NOT NULL,
        key text NOT NULL,
        request_hash bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        -- Held by a request under way until then; null once there is a response.
        lease_until timestamptz,
        lease_id text,
        status integer,
        response json,
        PRIMARY KEY (project_id, path, key)
      );
      CREATE INDEX idempotency_records_age ON idempotency_records (created_at);

      -- The table of rate-limiter-flexible.
      CREATE TABLE rate_limits (
        key varchar(255) PRIMARY KEY,
        points integer NOT NULL DEFAULT 0,
        expire bigint
      );
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

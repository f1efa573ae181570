import type { MigrationInterface, QueryRunner } from 'typeorm';

export class UserCredentials1800000000015 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- The person for whom the agent acts, as the client names them; null: nobody.
      ALTER TABLE sessions ADD COLUMN end_user text COLLATE "C";
      -- Whose credential a turn uses: the server's own, or that of the session's user.
      ALTER TABLE mcp_servers ADD COLUMN credentials text NOT NULL DEFAULT 'shared'
        CHECK (credentials IN ('shared', 'user'));
      -- As the server was when the turn began: a change of mcp_servers.credentials holds from the next turn.
      ALTER TABLE turn_servers ADD COLUMN as_user boolean NOT NULL DEFAULT false;
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
      -- An authorization belongs to a server or to the credential of a user.
      ALTER TABLE mcp_oauth DROP CONSTRAINT mcp_oauth_id_fkey;

      -- Waits of calls until the session's user has a usable credential for their server. A call may wait several times.
      CREATE TABLE authorization_waits (
        turn_id text COLLATE "C" NOT NULL,
        step integer NOT NULL,
        index integer NOT NULL,
        -- Counts the waits of the call, from 1.
        n integer NOT NULL,
        session_id text COLLATE "C" NOT NULL,
        tool_use_id text COLLATE "C" NOT NULL,
        mcp_server_id text COLLATE "C" NOT NULL,
        end_user text COLLATE "C" NOT NULL,
        -- planned → open (asked) → authorized, denied or expired; cancelled with the turn.
        state text NOT NULL DEFAULT 'planned'
          CHECK (state IN ('planned', 'open', 'authorized', 'denied', 'expired', 'cancelled')),
        asked_at timestamptz,
        expires_at timestamptz,
        -- The stored event that denies the call.
        answer_position integer,
        -- When it was authorized, denied, or not answered in time. With the end of its turn, if that closed it.
        closed_at timestamptz,
        -- When the workflow took that over; until then the reconciler signals it again.
        taken_at timestamptz,
        PRIMARY KEY (turn_id, step, index, n),
        CHECK ((asked_at IS NULL) = (expires_at IS NULL)),
        CHECK (answer_position IS NULL OR state = 'denied')
      );
      -- For a credential that becomes usable: the calls that wait for it.
      CREATE INDEX authorization_waits_open ON authorization_waits (mcp_server_id, end_user)
        WHERE state IN ('planned', 'open');
      -- For answers to calls, which name a tool use.
      CREATE INDEX authorization_waits_use ON authorization_waits (session_id, tool_use_id);
      ALTER TABLE authorization_waits SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
        autovacuum_vacuum_insert_scale_factor = 0.05)`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

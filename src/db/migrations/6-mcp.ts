import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tools stored once per version, pinned tools, and OAuth of MCP servers (contract.md §8). */
export class Mcp1700000000006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION mcp_tool_list(tools json) RETURNS json LANGUAGE sql IMMUTABLE AS $$
        SELECT coalesce(json_agg(json_build_object('name', tool->'name', 'description', tool->'description') ORDER BY n), '[]')
        FROM json_array_elements(tools) WITH ORDINALITY AS listed (tool, n)
      $$;
      CREATE FUNCTION mcp_toolset_hash(tools json) RETURNS text LANGUAGE sql IMMUTABLE AS $$
        SELECT encode(sha256(convert_to(tools::text, 'UTF8')), 'hex')
      $$;

      ALTER TABLE mcp_servers
        -- What clients see of the tools: no schemas, which are large.
        ADD tool_list json NOT NULL GENERATED ALWAYS AS (mcp_tool_list(tools)) STORED,
        ADD toolset_hash text NOT NULL GENERATED ALWAYS AS (mcp_toolset_hash(tools)) STORED,
        ADD pin_tools boolean NOT NULL DEFAULT false,
        -- The version of the tools that a person accepted, where they are pinned.
        ADD accepted_hash text,
        ADD changed_tools json NOT NULL DEFAULT '[]',
        DROP CONSTRAINT mcp_servers_auth_type_check,
        ADD CONSTRAINT mcp_servers_auth_type_check CHECK (auth_type IN ('NONE', 'BEARER', 'HEADER', 'OAUTH'));

      -- The versions of a server's tools that turns refer to, and the accepted one. Rows never change.
      CREATE TABLE mcp_toolsets (
        server_id text NOT NULL REFERENCES mcp_servers,
        hash text NOT NULL,
        tools json NOT NULL,
        PRIMARY KEY (server_id, hash)
      );

      ALTER TABLE turn_servers
        -- Null for turns that were connected before versions were stored: they have their tools in tools.
        ADD toolset_hash text,
        -- The tools of the version that the turn offers; null: all of them.
        ADD offered_tools text[],
        ALTER tools DROP NOT NULL;

      -- The OAuth side of a server of type OAUTH; id is that of the server. client, tokens and code_verifier are sealed.
      CREATE TABLE mcp_oauth (
        id text PRIMARY KEY REFERENCES mcp_servers,
        -- The scopes that the registration names; null: those of the resource's metadata.
        scopes text[],
        client text NOT NULL,
        -- True when the service registered the client by itself (RFC 7591).
        client_is_dynamic boolean NOT NULL,
        -- What discovery found: resource and authorization server.
        discovery json NOT NULL,
        redirect_uri text NOT NULL,
        tokens text,
        tokens_expire_at timestamptz,
        tokens_version integer NOT NULL DEFAULT 0,
        -- Null while authorization is required.
        authorized_at timestamptz,
        -- The authorization under way; of its state only the SHA-256 is stored.
        state_hash bytea CONSTRAINT mcp_oauth_state UNIQUE,
        state_expires_at timestamptz,
        code_verifier text
      );
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}

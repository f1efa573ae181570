import { EntitySchema } from 'typeorm';

export type McpAuthType = 'NONE' | 'BEARER' | 'HEADER';

/** A tool as the last probe found it, with what the model needs to call it. */
export interface McpToolRow {
  name: string;
  description: string;
  input_schema: Record<string, unknown>;
  /** True when the server annotates the tool `readOnlyHint` or `idempotentHint`: a call may be sent again. */
  repeatable: boolean;
}

export interface McpServerRow {
  id: string;
  project_id: string;
  name: string;
  url: string;
  auth_type: McpAuthType;
  auth_header: string | null;
  /** Sealed credential; null for NONE and once the server is deleted. */
  credential: string | null;
  /** Grows with each new credential, so that a kept connection knows that it is out of date. */
  credential_version: number;
  allowed_tools: string[] | null;
  tools: McpToolRow[];
  server_name: string | null;
  last_probed_at: string | null;
  last_connected_at: string | null;
  last_connect_error: string | null;
  created_at: string;
  updated_at: string;
  deleted_at: string | null;
}

export const McpServerEntity = new EntitySchema<McpServerRow>({
  name: 'mcp_servers',
  columns: {
    id: { type: 'text', primary: true },
    project_id: { type: 'text' },
    name: { type: 'text' },
    url: { type: 'text' },
    auth_type: { type: 'text' },
    auth_header: { type: 'text', nullable: true },
    credential: { type: 'text', nullable: true },
    credential_version: { type: 'integer', default: 1 },
    allowed_tools: { type: 'text', array: true, nullable: true },
    tools: { type: 'json' },
    server_name: { type: 'text', nullable: true },
    last_probed_at: { type: 'text', nullable: true },
    last_connected_at: { type: 'text', nullable: true },
    last_connect_error: { type: 'text', nullable: true },
    created_at: { type: 'text', insert: false },
    updated_at: { type: 'text', insert: false },
    deleted_at: { type: 'text', nullable: true },
  },
});

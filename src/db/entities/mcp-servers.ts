import { EntitySchema } from 'typeorm';
import type { McpOauthRow } from './mcp-oauth.js';

export type McpAuthType = 'NONE' | 'BEARER' | 'HEADER' | 'OAUTH';

/** The annotations that count: with any of them, a call may be repeated. Others are not stored. */
interface ToolAnnotations {
  readOnlyHint?: true;
  idempotentHint?: true;
}

/** What the server says about calls of a tool, for people; a hint that it does not give is absent. */
export interface ToolHints {
  read_only?: boolean;
  destructive?: boolean;
  idempotent?: boolean;
  open_world?: boolean;
}

export interface McpTool {
  name: string;
  description: string;
  /** Its name for people; absent without one. */
  title?: string;
  input_schema: Record<string, unknown>;
  /** Absent if the server gives none that counts. */
  annotations?: ToolAnnotations;
  /** Absent if the server gives none. */
  hints?: ToolHints;
  /** Absent if it cannot be called as a task. */
  task_support?: 'required' | 'optional';
}

/** The part of a tool that a person sees and accepts. `input_schema` is null if it is too large to show. */
export interface ShownTool {
  description: string;
  input_schema: Record<string, unknown> | null;
  annotations?: ToolAnnotations;
}

/** A tool of a pinned server that differs from the accepted version. `before` is null for a new tool. */
export interface ChangedTool {
  name: string;
  /** Identifies the version of `after`. */
  digest: string;
  before: ShownTool | null;
  after: ShownTool;
}

/** Calls of a tool that a person must allow in every session. */
export interface RequiredApproval {
  /** The server's own name of the tool; not given: each tool that no other entry names. */
  name?: string;
  /** The groups of which one decides, in place of those of the session. */
  approvers?: string[];
}

export interface McpServerRow {
  id: string;
  project_id: string;
  name: string;
  url: string;
  auth_type: McpAuthType;
  auth_header: string | null;
  /** Sealed credential; null for NONE and OAUTH, and after the server is deleted. */
  credential: string | null;
  /** Incremented for each new credential, to detect that an open connection uses an old one. */
  credential_version: number;
  /** `user`: turns use the credential of the session's user; the server's own serves registration and probes. */
  credentials: 'shared' | 'user';
  allowed_tools: string[] | null;
  /** The tools of the last probe, without schemas. Postgres derives it from the column `tools`. */
  tool_list: Pick<McpTool, 'name' | 'description'>[];
  /** Tools that the server lists and the service does not keep. */
  tools_left_out: number;
  /** The hash of the tools with schemas (src/mcp/toolsets). Postgres derives it from the column `tools`. */
  toolset_hash: string;
  pin_tools: boolean;
  /** The accepted version of pinned tools; null before the first tool list, or without pinning. */
  accepted_hash: string | null;
  changed_tools: ChangedTool[];
  required_approvals: RequiredApproval[];
  server_name: string | null;
  last_probed_at: string | null;
  last_connected_at: string | null;
  last_connect_error: string | null;
  created_at: string;
  updated_at: string;
  deleted_at: string | null;
  /** Null unless the type is OAUTH. */
  oauth: McpOauthRow | null;
}

/** The tools of the last probe with their schemas: up to 2 MiB, so read only on demand. */
export interface McpServerTools {
  tools: McpTool[];
}

export const McpServerEntity = new EntitySchema<McpServerRow & McpServerTools>({
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
    credentials: { type: 'text', default: 'shared' },
    allowed_tools: { type: 'text', array: true, nullable: true },
    tools: { type: 'json', select: false },
    tool_list: { type: 'json', insert: false, update: false },
    tools_left_out: { type: 'integer', default: 0 },
    toolset_hash: { type: 'text', insert: false, update: false },
    pin_tools: { type: 'boolean', default: false },
    accepted_hash: { type: 'text', nullable: true },
    changed_tools: { type: 'json', default: [] },
    required_approvals: { type: 'json', default: [] },
    server_name: { type: 'text', nullable: true },
    last_probed_at: { type: 'text', nullable: true },
    last_connected_at: { type: 'text', nullable: true },
    last_connect_error: { type: 'text', nullable: true },
    created_at: { type: 'text' },
    updated_at: { type: 'text' },
    deleted_at: { type: 'text', nullable: true },
  },
  relations: {
    oauth: { type: 'one-to-one', target: 'mcp_oauth', inverseSide: 'server' },
  },
});

import { EntitySchema } from 'typeorm';

/** Permission of a tool: run each call at once, or only after a person allowed it. */
export interface PermissionPolicy {
  type: 'always_allow' | 'always_ask';
  /** The groups of which one decides, with `always_ask`; not given: who may approve decides. */
  approvers?: string[];
}

/** Permissions for the tools of one of the session's MCP servers (decisions.md "Person in the loop"). */
export interface McpToolset {
  type: 'mcp_toolset';
  mcp_server_id: string;
  default_config?: { permission_policy: PermissionPolicy };
  configs?: { name: string; permission_policy: PermissionPolicy }[];
  /** The server may ask the person while a call runs (decisions.md "Tasks and elicitation"). */
  elicitation?: boolean;
  /** Whether the model has to find the tools (decisions.md "Tools found by search"); `auto` if not given. */
  defer?: 'auto' | 'always' | 'never';
}

/** A tool that the client runs (decisions.md "Person in the loop"). */
export interface CustomTool {
  type: 'custom';
  name: string;
  description: string;
  input_schema: Record<string, unknown>;
}

/** The session has a workspace, and the permissions for its tools (decisions.md "Workspace"). */
export interface WorkspaceToolset {
  type: 'workspace';
  default_config?: { permission_policy: PermissionPolicy };
  configs?: { name: string; permission_policy: PermissionPolicy }[];
}

/** The agent may wait until a time (decisions.md "An agent that waits"). */
export interface WaitTool {
  type: 'wait';
}

/** The agent may give tasks to another one (decisions.md "Agents that call agents"). */
export interface AgentTool {
  type: 'agent';
  agent_id: string;
  /** A number, or `live`, the default: the version that is live at the time of the call. */
  version?: number | 'live';
  permission_policy?: PermissionPolicy;
}

/** The agent has a memory between sessions (docs/memory.md). `access` and `permission_policy`: src/memories/entries.ts. */
export interface MemoryTool {
  type: 'memory';
  of: 'user' | 'agent' | 'agent_user' | 'project';
  access?: 'read_write' | 'read_only';
  permission_policy?: PermissionPolicy;
}

export type SessionTool = McpToolset | WorkspaceToolset | MemoryTool | WaitTool | AgentTool | CustomTool;

/** The fields of a budget, as the client gave them. */
interface Budget {
  max_cost: { amount: string; currency: string };
  on_reached: 'pause' | 'stop';
}

/** What a session has instead of fields of its agent's configuration, as the client gave it. */
export interface Overrides {
  model_id?: string;
  thinking_enabled?: boolean;
  instruction?: string | null;
  fallback_model_ids?: string[];
  skills?: SkillEntry[];
}

/** A skill of an agent: its id, or the name of the one that has it when a turn begins. */
export type SkillEntry = string | { name: string };

export interface SessionRow {
  id: string;
  project_id: string;
  model_id: string;
  thinking_enabled: boolean;
  instruction: string | null;
  mcp_servers: string[];
  metadata: Record<string, string>;
  /** As the client sent them (decisions.md "Person in the loop"). */
  tools: SessionTool[];
  /** The custom tools among them, with schemas that a model's API accepts. */
  model_tools: CustomTool[];
  fallback_model_ids: string[];
  /** What its model calls may cost (src/sessions/budget). */
  budget: Budget | null;
  /** That of its model's price when it was created; null without a price. */
  currency: string | null;
  /** For whom the agent acts (decisions.md "User credentials"); null: for nobody. */
  end_user: string | null;
  /** The beginning of the first message; null without one. */
  preview: string | null;
  turn_count: number;
  last_turn_id: string | null;
  created_at: string;
  /** Time of the last metadata change. The session's `updated_at` also depends on its last turn. */
  metadata_updated_at: string;
  deleted_at: string | null;
  /** The session whose agent has called the agent of this one; null for the sessions of clients (src/sessions/child-session). */
  parent_session_id: string | null;
  /** The session that it is a fork of, and the last turn that was copied; null without one. */
  forked_from_session_id: string | null;
  forked_from_turn_id: string | null;
  /** Its own, or that of a version of its agent; null for a session that follows its agent. */
  configuration_id: string | null;
  agent_id: string | null;
  agent_version: number | null;
  /** Of its row in session_overrides; null without one. */
  overrides_number: number | null;
}

export const SessionEntity = new EntitySchema<SessionRow>({
  name: 'sessions',
  columns: {
    id: { type: 'text', primary: true },
    project_id: { type: 'text' },
    model_id: { type: 'text', nullable: true },
    thinking_enabled: { type: 'boolean', nullable: true },
    instruction: { type: 'text', nullable: true },
    mcp_servers: { type: 'text', array: true, nullable: true },
    metadata: { type: 'json' },
    tools: { type: 'json', default: [] },
    model_tools: { type: 'json', default: [], select: false },
    fallback_model_ids: { type: 'text', array: true },
    budget: { type: 'json', nullable: true },
    currency: { type: 'text', nullable: true, select: false },
    end_user: { type: 'text', nullable: true },
    preview: { type: 'text', nullable: true },
    turn_count: { type: 'integer', default: 0 },
    last_turn_id: { type: 'text', nullable: true },
    created_at: { type: 'text' },
    metadata_updated_at: { type: 'text' },
    deleted_at: { type: 'text', nullable: true },
    parent_session_id: { type: 'text', nullable: true },
    forked_from_session_id: { type: 'text', nullable: true },
    forked_from_turn_id: { type: 'text', nullable: true },
    configuration_id: { type: 'text', nullable: true, select: false },
    agent_id: { type: 'text', nullable: true },
    agent_version: { type: 'integer', nullable: true },
    overrides_number: { type: 'integer', nullable: true, select: false },
  },
});

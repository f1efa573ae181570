import type { Database } from '../../src/db/db.js';
import type { TurnFields } from '../../src/db/entities/turns.js';
import type { Config } from '../../src/platform/config.js';
import type { Storage } from '../../src/files/storage.js';
import type { MemoryShare } from '../../src/platform/memory-share.js';
import type { Logger } from '../../src/platform/logger.js';
import type { BuiltInToolName } from '../../src/sessions/tools.js';
import type { ToolDefinition } from '../../src/models/request.js';
import type { SandboxProvider } from '../../src/workspaces/sandbox.js';
import type { ManifestCache } from '../../src/workspaces/manifest-cache.js';
import type { TurnContext } from '../../src/steps/context.js';
import type { ToolResult } from '../../src/steps/tool-call.js';
import type { McpConnections } from './mcp/connections.js';

/** What each tool returns. */
export type { ToolResult };

/** A skill selected for the turn, as recorded in `user.message`. */
export interface SelectedSkill {
  id: string;
  name: string;
  description: string;
}

export interface ToolCall {
  turn: Pick<TurnFields, 'id' | 'sessionId' | 'projectId' | 'number'> & { skills: SelectedSkill[] } & Pick<
      TurnContext,
      'workspace' | 'parentSessionId'
    >;
  name: string;
  toolUseId: string;
  /** The same for every attempt at this call. */
  idempotencyKey: string;
  input: Record<string, unknown>;
  /** Aborts when the turn is cancelled or the tool's time limit is reached. */
  signal: AbortSignal;
  /** Reports progress, which restarts the tool's time limit. */
  progress: () => void;
}

export interface ToolDeps {
  config: Config;
  db: Database;
  log: Logger;
  storage: Storage;
  mcp: McpConnections;
  /** Where commands of workspaces run; null: SANDBOX_PROVIDER is off. */
  sandbox: SandboxProvider | null;
  manifests: ManifestCache;
  /** Memory for requests and answers in flight. */
  memory: MemoryShare;
}

/** A built-in tool (decisions.md "What the agent has"). Its input is validated against `inputSchema` before `run`. */
export interface BuiltInTool extends ToolDefinition {
  name: BuiltInToolName;
  /** A constant of a module: it is compiled once (`compileOnce`). */
  inputSchema: {
    type: 'object';
    properties: Record<string, unknown>;
    required?: string[];
    additionalProperties: false;
  };
  run(call: ToolCall, deps: ToolDeps): Promise<ToolResult>;
}

export function textResult(text: string, isError = false): ToolResult {
  return { content: [{ type: 'text', text }], isError };
}

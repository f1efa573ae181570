import type { DataSource, EntityManager } from 'typeorm';
import type { Config } from '../../src/platform/config.js';
import type { NewEvent } from '../../src/events/schema.js';
import type { Storage } from '../../src/files/storage.js';
import type { ByteBudget } from '../../src/platform/byte-budget.js';
import type { Logger } from '../../src/platform/logger.js';
import type { BuiltInToolName } from '../../src/sessions/tools.js';
import type { ResultBlock } from '../../src/turns/content.js';
import type { ToolDefinition } from '../../src/models/request.js';
import type { McpConnections } from './mcp/connections.js';

export interface ToolResult {
  content: ResultBlock[];
  isError: boolean;
  /** Events to store right before the `agent.tool_result`; decided while the transaction holds the turn's lock. */
  eventsBefore?: (tx: EntityManager) => Promise<NewEvent[]>;
  /** Runs in the transaction that stores the result: rows written here exist exactly when the result does. */
  commit?: (tx: EntityManager) => Promise<void>;
}

/** A skill selected for the turn, as recorded in `user.message`. */
export interface SelectedSkill {
  id: string;
  name: string;
  description: string;
}

/** One call of a tool. */
export interface ToolCall {
  turn: { id: string; sessionId: string; projectId: string; skills: SelectedSkill[] };
  toolUseId: string;
  /** The same for every attempt at this call. */
  idempotencyKey: string;
  input: Record<string, unknown>;
  /** Aborts when the turn is cancelled or the tool's time is over. */
  signal: AbortSignal;
  /** The tool is alive: restarts its time limit. */
  progress: () => void;
}

/** What tools work with; made once by the worker. Each tool folder adds what it needs. */
export interface ToolDeps {
  config: Config;
  db: DataSource;
  log: Logger;
  storage: Storage;
  /** Open connections to MCP servers. */
  mcp: McpConnections;
  /** Bytes of requests and answers in flight. */
  budget: ByteBudget;
}

/** A tool of the service itself (contract.md §4). Input is validated by `inputSchema` before `run`. */
export interface BuiltInTool extends ToolDefinition {
  name: BuiltInToolName;
  inputSchema: {
    type: 'object';
    properties: Record<string, unknown>;
    required?: string[];
    additionalProperties: false;
  };
  run(call: ToolCall, deps: ToolDeps): Promise<ToolResult>;
}

/** A result of text alone. */
export function textResult(text: string, isError = false): ToolResult {
  return { content: [{ type: 'text', text }], isError };
}

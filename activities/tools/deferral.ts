import type { McpToolset } from '../../src/db/entities/sessions.js';
import type { ToolDefinition } from '../../src/models/request.js';
import { bytesOfTokens } from '../../src/models/tokens.js';
import type { McpServerTool } from './mcp/names.js';

/** The tools of a turn whose definitions the model gets once it has found them (docs/contract.md §19). */
export interface Deferral {
  /** By their full names, in the turn's order. */
  deferred: ReadonlyMap<string, McpServerTool>;
  /** Limit of the definitions of those that were found, at the start of a turn. */
  maxBytes: number;
}

export interface DeferralLimits {
  /** `TOOL_DEFINITION_TOKENS`. */
  toolDefinitionTokens: number;
  contextWindow: number;
}

/** The definitions of a turn take at most this share of the model's window, or are deferred. */
const WINDOW_SHARE = 0.1;

/** Schemas are the same objects in every request of a process. */
const knownBytes = new WeakMap<object, number>();

/** Bytes of a tool's definition in a request. */
export function definitionBytes({ name, description, inputSchema }: ToolDefinition): number {
  const known = knownBytes.get(inputSchema);
  if (known !== undefined) return known;
  const bytes = Buffer.byteLength(JSON.stringify({ name, description, input_schema: inputSchema }));
  knownBytes.set(inputSchema, bytes);
  return bytes;
}

/** Tools of servers with `defer: "auto"`, which is the default, are deferred all or none: if they are too large together. */
export function deferTools(
  tools: readonly McpServerTool[],
  toolsets: readonly McpToolset[],
  { toolDefinitionTokens, contextWindow }: DeferralLimits,
): Deferral {
  const maxBytes =
    toolDefinitionTokens === 0
      ? Number.POSITIVE_INFINITY
      : bytesOfTokens(Math.min(toolDefinitionTokens, contextWindow * WINDOW_SHARE));
  const modes = new Map(toolsets.map(({ mcp_server_id: id, defer }) => [id, defer]));
  const modeOf = ({ serverId }: McpServerTool): McpToolset['defer'] => modes.get(serverId) ?? 'auto';
  const areTooLarge = exceeds(
    tools.filter((tool) => modeOf(tool) === 'auto'),
    maxBytes,
  );
  const isDeferred = (tool: McpServerTool): boolean =>
    modeOf(tool) === 'always' || (modeOf(tool) === 'auto' && areTooLarge);
  return { deferred: new Map(tools.filter(isDeferred).map((tool) => [tool.name, tool])), maxBytes };
}

/** Measures no more tools than it needs: a turn may have 20,000. */
function exceeds(tools: readonly McpServerTool[], maxBytes: number): boolean {
  let bytes = 0;
  return tools.some((tool) => (bytes += definitionBytes(tool)) > maxBytes);
}

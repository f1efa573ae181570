import type { ToolDefinition } from '../../../src/models/request.js';
import type { McpTool } from '../../../src/db/entities/mcp-servers.js';
import { annotationsOf, type ShownAnnotations } from '../../../src/mcp/asked-tool.js';

/** A tool of an MCP server under its full name, `mcp__<server>__<tool>`. */
export interface McpServerTool extends ToolDefinition {
  serverId: string;
  serverName: string;
  /** The server's own name of the tool. */
  toolName: string;
  /** Its name for people; null without one. */
  title: string | null;
  shownAnnotations: ShownAnnotations;
  /** A call may be sent again (`readOnlyHint`, `idempotentHint`). */
  repeatable: boolean;
  /** Its calls use the credential of the session's user. */
  asUser: boolean;
  /** It can be called as a task, if its server offers tasks. */
  mayBeTask: boolean;
}

/** A server with one version of its tools. If `offeredTools` is null, the turn offers all of them. */
export interface TurnServerTools {
  id: string;
  name: string;
  tools: readonly McpTool[];
  offeredTools: string[] | null;
  asUser: boolean;
}

/**
 * Returns the tools that a turn offers, in the session's order of servers and the server's order of tools. The order is
 * fixed, so that requests stay the same for the prompt cache.
 */
export function mcpToolsOf(servers: readonly TurnServerTools[]): McpServerTool[] {
  return servers.flatMap((server) => {
    const offered = server.offeredTools === null ? null : new Set(server.offeredTools);
    return server.tools
      .filter((tool) => offered?.has(tool.name) ?? true)
      .map((tool) => ({
        name: mcpToolName(server.name, tool.name),
        description: tool.description,
        inputSchema: tool.input_schema,
        serverId: server.id,
        serverName: server.name,
        asUser: server.asUser,
        toolName: tool.name,
        title: tool.title ?? null,
        shownAnnotations: annotationsOf(tool),
        repeatable: tool.annotations !== undefined,
        mayBeTask: tool.task_support !== undefined,
      }));
  });
}

/** `mcp__<server>__<tool>`. Server names have no underscore, so the name can be split again. */
function mcpToolName(serverName: string, toolName: string): string {
  return `mcp__${serverName}__${toolName}`;
}

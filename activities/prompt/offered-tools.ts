import type { CustomTool } from '../../src/sessions/tools.js';
import type { TurnContext } from '../../src/turns/context.js';
import { toolAliases, type ToolAliases } from './tool-aliases.js';
import { builtInTools } from '../tools/built-in/index.js';
import { mcpToolsOf, type OfferedTool } from '../tools/mcp/call.js';
import type { BuiltInTool } from '../tools/tool.js';

/** The tools of one turn: the same list at each of its steps. */
export interface OfferedTools {
  builtIn: BuiltInTool[];
  mcp: OfferedTool[];
  custom: CustomTool[];
  aliases: ToolAliases;
}

/** The service's own tools first, then those of the connected MCP servers in the session's order, then the client's. */
export function offeredTools(turn: TurnContext): OfferedTools {
  const builtIn = builtInTools(turn);
  const mcp = mcpToolsOf(turn.servers);
  const custom = turn.customTools;
  return { builtIn, mcp, custom, aliases: toolAliases([...builtIn, ...mcp, ...custom].map((tool) => tool.name)) };
}

import type { AgentKindDeps } from './agents/kind.js';
import { agentSource } from './agents/source.js';
import { builtInSource } from './built-in/source.js';
import type { CommandPlaces } from './built-in/workspace/kind.js';
import { clientSource } from './client/source.js';
import type { McpKindDeps } from './mcp/kind.js';
import { mcpSource } from './mcp/source.js';
import { outputSource } from './output/source.js';
import type { ToolSource } from './tool-source.js';

/** All sources of tools, in the order of a request. */
export function toolSources(deps: McpKindDeps & AgentKindDeps, places: CommandPlaces): readonly ToolSource[] {
  return [builtInSource(deps, places), agentSource(deps), mcpSource(deps), clientSource, outputSource];
}

import type { McpToolset } from '../../../src/db/entities/sessions.js';
import { definitionBytes, maxDefinitionBytes, type DefinitionLimits } from '../definition-bytes.js';
import type { McpServerTool } from './names.js';

/**
 * The tools of a turn whose definitions the model gets once it has found them (docs/decisions.md "Tools found by search"), by their full names, in the
 * turn's order.
 */
export type Deferred = ReadonlyMap<string, McpServerTool>;

/** Tools of servers with `defer: "auto"`, which is the default, are deferred all or none: if they are too large together. */
export function deferTools(
  tools: readonly McpServerTool[],
  toolsets: readonly McpToolset[],
  limits: DefinitionLimits,
): Deferred {
  const modes = new Map(toolsets.map(({ mcp_server_id: id, defer }) => [id, defer]));
  const modeOf = ({ serverId }: McpServerTool): McpToolset['defer'] => modes.get(serverId) ?? 'auto';
  const areTooLarge = exceeds(
    tools.filter((tool) => modeOf(tool) === 'auto'),
    maxDefinitionBytes(limits),
  );
  const isDeferred = (tool: McpServerTool): boolean =>
    modeOf(tool) === 'always' || (modeOf(tool) === 'auto' && areTooLarge);
  return new Map(tools.filter(isDeferred).map((tool) => [tool.name, tool]));
}

/** Measures no more tools than it needs: a turn may have 20,000. */
function exceeds(tools: readonly McpServerTool[], maxBytes: number): boolean {
  let bytes = 0;
  return tools.some((tool) => (bytes += definitionBytes(tool)) > maxBytes);
}

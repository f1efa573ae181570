import { isJsonObject } from '../../../src/platform/json-object.js';
import type { McpServerTool } from './names.js';

/**
 * Ranks tools by the words of a query that their name, server, description or arguments contain (docs/decisions.md "Tools found by search"): more
 * different words first, then more of them in the name, then the given order. A query that is a name gives its tools first.
 */
export function searchTools(tools: Iterable<McpServerTool>, query: string): McpServerTool[] {
  const wanted = query.trim().toLowerCase();
  const words = [...new Set(wanted.split(/[^\p{L}\p{N}]+/u))].filter((word) => word !== '');
  const hits: { tool: McpServerTool; isNamed: boolean; found: number; inName: number }[] = [];
  for (const tool of tools) {
    const name = tool.toolName.toLowerCase();
    const text = [name, tool.serverName, tool.description, ...argumentsOf(tool)].join('\n').toLowerCase();
    const isNamed = name === wanted || tool.name.toLowerCase() === wanted;
    const found = words.filter((word) => text.includes(word)).length;
    if (!isNamed && found === 0) continue;
    hits.push({ tool, isNamed, found, inName: words.filter((word) => name.includes(word)).length });
  }
  return hits
    .sort((a, b) => Number(b.isNamed) - Number(a.isNamed) || b.found - a.found || b.inName - a.inName)
    .map(({ tool }) => tool);
}

function argumentsOf({ inputSchema }: McpServerTool): string[] {
  return isJsonObject(inputSchema.properties) ? Object.keys(inputSchema.properties) : [];
}

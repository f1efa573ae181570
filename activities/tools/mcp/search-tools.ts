import { toolAliases } from '../../../src/models/aliases.js';
import { SEARCH_TOOLS } from '../../../src/sessions/tools.js';
import { formatHits } from '../../../src/steps/found-tools.js';
import { textResult, type BuiltInTool } from '../tool.js';
import type { Deferred } from './deferral.js';
import { searchTools } from './search.js';

const DEFAULT_LIMIT = 5;
const MAX_LIMIT = 20;

/** The same for all turns: what is compiled is never freed. */
const INPUT_SCHEMA: BuiltInTool['inputSchema'] = {
  type: 'object',
  properties: {
    query: {
      type: 'string',
      minLength: 1,
      maxLength: 200,
      description: 'Words that say what the tool does and with what, or its name.',
    },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_LIMIT,
      description: `How many tools to find at most; ${DEFAULT_LIMIT} if not given.`,
    },
  },
  required: ['query'],
  additionalProperties: false,
};

/**
 * The tool that finds deferred tools. What it has found follows from its stored result, so it changes nothing itself.
 */
export function searchToolsTool(deferred: Deferred): BuiltInTool {
  const servers = listServers(deferred);
  return {
    name: SEARCH_TOOLS,
    description:
      'Finds tools of the session’s MCP servers, which are too many to show at once, by words in their names, descriptions and arguments. ' +
      `What it finds can be called from then on. Search before you say that something cannot be done. Servers: ${servers}.`,
    inputSchema: INPUT_SCHEMA,
    async run({ input }) {
      const hits = searchTools(deferred.values(), input.query as string);
      if (hits.length === 0) return textResult(`No tool has any of these words. Try others. Servers: ${servers}.`);
      const shown = hits.slice(0, (input.limit as number | undefined) ?? DEFAULT_LIMIT);
      const { toModel } = toolAliases([...deferred.keys()]);
      const named = shown.map(({ name, description }) => ({ name: toModel(name), description }));
      return textResult(formatHits(named, hits.length));
    },
  };
}

function listServers(deferred: Deferred): string {
  const counts = new Map<string, number>();
  for (const { serverName } of deferred.values()) counts.set(serverName, (counts.get(serverName) ?? 0) + 1);
  return [...counts].map(([name, count]) => `${name} (${count} ${count === 1 ? 'tool' : 'tools'})`).join(', ');
}

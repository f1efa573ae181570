import { useClient } from '../client/service.js';
import { useLoad } from '../client/use-load.js';

/** The input schema of a tool of an MCP server, by the name that the agent knows; null until it has come, and for other tools. */
export function useToolSchema(name: string): Record<string, unknown> | null {
  const client = useClient();
  const { value } = useLoad(
    async (signal) => {
      const [, serverName, toolName] = /^mcp__([^_]+)__(.+)$/s.exec(name) ?? [];
      if (serverName === undefined) return null;
      for await (const server of client.eachMcpServer({}, { signal })) {
        if (server.name !== serverName) continue;
        for await (const tool of client.eachMcpServerTool(server.id, {}, { signal }))
          if (tool.name === toolName) return tool.input_schema;
      }
      return null;
    },
    [client, name],
  );
  return value;
}

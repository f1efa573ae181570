/** `mcp__github__search` is the tool `search` of the server `github`. */
export function formatToolName(name: string): string {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/s.exec(name) ?? [];
  return tool === undefined ? name : `${server} › ${tool}`;
}

import { NO_ANNOTATIONS } from '../../../../src/mcp/asked-tool.js';
import { expect } from 'chai';
import { mcpToolsOf, type TurnServerTools } from '../../../../activities/tools/mcp/names.js';

const source = (name: string, tools: string[], offeredTools: string[] | null = null): TurnServerTools => ({
  id: `mcp_${name}`,
  name,
  offeredTools,
  asUser: false,
  tools: tools.map((tool) => ({
    name: tool,
    description: `${tool}!`,
    input_schema: { type: 'object' },
  })),
});

describe('the tools of MCP servers in model requests', () => {
  it('the tools of MCP servers in model requests are in the order of the servers and their tools, under the name of the server', () => {
    const names = mcpToolsOf([source('b', ['z', 'a']), source('a', ['z'])]).map(({ name }) => name);
    expect(names).to.deep.equal(['mcp__b__z', 'mcp__b__a', 'mcp__a__z']);
  });

  it('the tools of MCP servers in model requests are only the offered ones', () => {
    const names = mcpToolsOf([source('s', ['a', 'b', 'c'], ['c', 'a', 'gone'])]).map(({ toolName }) => toolName);
    expect(names).to.deep.equal(['a', 'c']);
  });

  it('the tools of MCP servers in model requests carry what a call needs', () => {
    expect(mcpToolsOf([source('s', ['a'])])).to.deep.equal([
      {
        name: 'mcp__s__a',
        description: 'a!',
        inputSchema: { type: 'object' },
        serverId: 'mcp_s',
        serverName: 's',
        toolName: 'a',
        asUser: false,
        title: null,
        shownAnnotations: NO_ANNOTATIONS,
        repeatable: false,
        mayBeTask: false,
      },
    ]);
  });
});

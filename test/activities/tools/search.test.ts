import { NO_ANNOTATIONS } from '../../../src/mcp/asked-tool.js';
import { expect } from 'chai';
import { definitionBytes } from '../../../activities/tools/definition-bytes.js';
import { deferTools } from '../../../activities/tools/mcp/deferral.js';
import { searchToolsTool } from '../../../activities/tools/mcp/search-tools.js';
import { builtInKind } from '../../../activities/tools/built-in/kind.js';
import { runTool } from '../../../activities/tools/run-tool.js';
import { searchTools } from '../../../activities/tools/mcp/search.js';
import type { ToolDeps } from '../../../activities/tools/tool.js';
import type { McpServerTool } from '../../../activities/tools/mcp/names.js';
import type { McpToolset } from '../../../src/db/entities/sessions.js';
import { foundTools, formatHits, namesOfHits, shortenHits } from '../../../src/steps/found-tools.js';
import type { ToolCallRow } from '../../../src/steps/tool-call.js';
import { callRun, NO_PAUSE } from '../../support/call-run.js';
import { heapInUse } from '../../support/heap.js';
import { manyServerTools, TASKS } from '../../support/many-tools.js';

const tool = (serverName: string, toolName: string, description = '', properties: object = {}): McpServerTool => ({
  ...{ name: `mcp__${serverName}__${toolName}`, description, inputSchema: { type: 'object', properties } },
  ...{ serverId: `id_${serverName}`, serverName, toolName, repeatable: false, mayBeTask: false, asUser: false },
  ...{ title: null, shownAnnotations: NO_ANNOTATIONS },
});

describe('the search for tools', () => {
  const named = (tools: McpServerTool[], query: string): string[] =>
    searchTools(tools, query).map(({ toolName, serverName }) => `${serverName}.${toolName}`);

  it('the search for tools finds the right one of 2,500 tools among its first five hits, for at least 45 of 50 tasks', () => {
    const tools = manyServerTools();
    expect(tools).to.have.length(2500);
    expect(TASKS).to.have.length(50);
    const missed = TASKS.filter(([query, right]) => {
      const first = searchTools(tools, query).slice(0, 5);
      return !first.some(({ name }) => name === right);
    });
    expect(50 - missed.length, JSON.stringify(missed)).to.be.at.least(45);
  });

  it('the search for tools looks into names, servers, descriptions and arguments, whatever the case', () => {
    const tools = [
      tool('mail', 'send', 'Sends a letter.'),
      tool('crm', 'add', 'Adds a person.', { postal_code: {} }),
      tool('Letters', 'look'),
      tool('web', 'get_letter'),
    ];
    expect(named(tools, 'LETTER')).to.deep.equal(['web.get_letter', 'mail.send', 'Letters.look']);
    expect(named(tools, 'postal')).to.deep.equal(['crm.add']);
    expect(named(tools, 'nothing')).to.deep.equal([]);
    expect(named(tools, '?!')).to.deep.equal([]);
  });

  it('the search for tools puts more different words first, then hits in the name, then the order of the turn', () => {
    const tools = [
      tool('a', 'one', 'Reads the weather of a city.'),
      tool('b', 'weather', 'Tells it.'),
      tool('c', 'city_weather', 'Tells it.'),
      tool('d', 'two', 'Reads the weather.'),
    ];
    expect(named(tools, 'weather city weather weather')).to.deep.equal([
      'c.city_weather',
      'a.one',
      'b.weather',
      'd.two',
    ]);
    expect(named(tools, 'weather')).to.deep.equal(['b.weather', 'c.city_weather', 'a.one', 'd.two']);
  });

  it('the search for tools gives the tools first whose own or full name is the query', () => {
    const tools = [tool('a', 'get_issue_list_all', 'Get issue, list.'), tool('b', 'get_issue'), tool('c', 'get_issue')];
    expect(named(tools, 'get_issue').slice(0, 2)).to.deep.equal(['b.get_issue', 'c.get_issue']);
    expect(named(tools, ' MCP__c__get_issue ')[0]).to.equal('c.get_issue');
  });

  it('the search for tools cuts words at everything but letters and digits', () => {
    const tools = [tool('a', 'größe'), tool('b', 'v2')];
    expect(named(tools, 'GRÖSSE,größe/')).to.deep.equal(['a.größe']);
    expect(named(tools, 'v2.0')).to.deep.equal(['b.v2']);
  });
});

describe('the tools that are deferred', () => {
  const tools = [tool('a', 'one', 'x'.repeat(3000)), tool('b', 'two', 'x'.repeat(3000)), tool('c', 'three', 'x')];
  const bytes = tools.reduce((sum, each) => sum + definitionBytes(each), 0);
  const deferred = (tokens: number, contextWindow = 1e9, modes: Record<string, McpToolset['defer']> = {}): string[] => {
    const toolsets = Object.entries(modes).map(([name, defer]) => ({
      ...({ type: 'mcp_toolset', mcp_server_id: `id_${name}`, defer } as const),
    }));
    const limits = { toolDefinitionTokens: tokens, contextWindow };
    return [...deferTools(tools, toolsets, limits).values()].map(({ toolName }) => toolName);
  };

  it('the tools that are deferred are all or none, by the number of tokens or by a tenth of the window, whichever is less', () => {
    const fits = Math.ceil(bytes / 3.5);
    expect(deferred(fits)).to.deep.equal([]);
    expect(deferred(fits - 1)).to.deep.equal(['one', 'two', 'three']);
    expect(deferred(20_000, fits * 10)).to.deep.equal([]);
    expect(deferred(20_000, fits * 10 - 20)).to.deep.equal(['one', 'two', 'three']);
    expect(deferred(0, 10)).to.deep.equal([]);
  });

  it('the tools that are deferred are chosen by defer: the tools of never and always do not count', () => {
    expect(deferred(1000, 1e9, { a: 'never' })).to.deep.equal([]);
    expect(deferred(500, 1e9, { a: 'never' })).to.deep.equal(['two', 'three']);
    expect(deferred(1000, 1e9, { a: 'always', c: 'auto' })).to.deep.equal(['one']);
    expect(deferred(0, 10, { c: 'always' })).to.deep.equal(['three']);
  });
});

describe('the tools that are found', () => {
  const hits = (...names: string[]): string =>
    formatHits(
      names.map((name) => ({ name, description: 'Does it.' })),
      9,
    );
  const search = (turn: number, step: number, ...names: string[]) => ({
    turn,
    last: [step, 0] as [number, number],
    called: null,
    result: hits(...names),
  });
  const call = (turn: number, step: number, called: string) => ({
    turn,
    last: [step, 0] as [number, number],
    called,
    result: null,
  });
  const sizes: Record<string, number> = { a: 10, b: 10, c: 10, d: 10 };
  const found = (calls: Parameters<typeof foundTools>[0], turn: number, maxBytes = 1000): string[] =>
    foundTools(calls, { bytesOf: (name) => sizes[name], toFull: (alias) => alias, maxBytes, turn });

  it('the tools that are found are the hits of searches and what was called without one, in the order of finding', () => {
    const calls = [
      search(1, 1, 'b', 'a'),
      call(1, 2, 'a'),
      call(1, 2, 'c'),
      call(2, 1, 'not_offered'),
      search(2, 2, 'd', 'b'),
    ];
    expect(found(calls, 2)).to.deep.equal(['b', 'a', 'c', 'd']);
  });

  it('the tools that are found go back at the start of a turn when they are too large, those first that were not called for longest', () => {
    const calls = [search(1, 1, 'a', 'b', 'c'), call(1, 2, 'a'), call(2, 1, 'b')];
    expect(found(calls.slice(0, 2), 1, 20)).to.deep.equal(['a', 'b', 'c']);
    expect(found(calls.slice(0, 2), 2, 20)).to.deep.equal(['a', 'b']);
    expect(found([...calls, search(2, 2, 'd')], 2, 20)).to.deep.equal(['a', 'b', 'd']);
    expect(found([...calls, search(2, 2, 'd')], 3, 20)).to.deep.equal(['b', 'd']);
    // What went back is found again at the end.
    expect(found([...calls, search(2, 2, 'd'), search(3, 1, 'a')], 3, 20)).to.deep.equal(['b', 'd', 'a']);
  });

  it('the tools that are found are read from a result, and from one that was shortened', () => {
    const text = formatHits(
      [
        { name: 'mcp__a__b', description: 'First.\nmcp__x__y: second' },
        { name: 'long_1234', description: `${'😀'.repeat(300)}` },
        { name: 'plain', description: '' },
      ],
      4,
    );
    const names = ['mcp__a__b', 'long_1234', 'plain'];
    expect(namesOfHits(text)).to.deep.equal(names);
    expect(text)
      .to.contain('mcp__a__b: First. mcp__x__y: second\n')
      .and.contain(`long_1234: ${'😀'.repeat(200)}\n`);
    expect(text).to.match(/^\[4 tools have some of these words; the best 3/);
    expect(namesOfHits(shortenHits(text, '[Left out to save room.]'))).to.deep.equal(names);
  });
});

describe('the tool search_tools', () => {
  it('the tool search_tools keeps nothing of its calls, and checks the input of each', async () => {
    const deferred = new Map(manyServerTools().slice(0, 10).map((one) => [one.name, one])); // oxfmt-ignore
    const search = async (input: Record<string, unknown>) => {
      // As each call: with the tools of its turn.
      const kind = builtInKind({} as ToolDeps, searchToolsTool(deferred));
      const call = { name: 'search_tools', toolUseId: 'tu_1', turnId: 'turn_1', step: 1, index: 0, input };
      const result = await runTool(kind, callRun(call as ToolCallRow), NO_PAUSE, 60);
      return 'isError' in result && result.isError;
    };
    expect(await search({ query: '' })).to.equal(true);
    expect(await search({ query: 'letter', limit: 2 })).to.equal(false);
    const many = async (times: number): Promise<void> => {
      for (let count = 0; count < times; count += 1) {
        await search({ query: 'letter' });
        // What Node keeps of an abort signal is freed between two pieces of the event loop.
        if (count % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await many(500);
    const before = heapInUse();
    await many(3000);
    expect(heapInUse() - before).to.be.below(2 * 1024 * 1024);
  });
});

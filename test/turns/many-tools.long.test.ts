import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { manyTools } from '../support/many-tools.js';
import { startMcpServer, type TestMcpServer } from '../support/mcp-server.js';
import {
  failure,
  message,
  startScriptedModel,
  text,
  toolUse,
  type Reply,
  type ScriptedModel,
} from '../support/scripted-model.js';
import { TEST_MODEL } from '../support/config.js';
import { expectAcceptedRequests, use, useTurnService } from '../support/use.js';

const KIB = 1024;

/** decisions.md "Tools found by search": ten servers with 250 tools each. */
describe('the tools of a turn that are too many to show', () => {
  const servers = use(
    async () => {
      const families = manyTools();
      const pairs = families.flatMap((family, index) =>
        index % 2 === 0 ? [[family, families[index + 1]!] as const] : [],
      );
      const list = await Promise.all(
        pairs.map(async ([one, other]) => ({
          name: `${one.server}-${other.server}`,
          mcp: await startMcpServer({ tools: [...one.tools, ...other.tools] }),
        })),
      );
      return { list };
    },
    async ({ list }) => {
      await Promise.all(list.map(({ mcp }) => mcp.close()));
    },
  );
  const service = useTurnService(() => ({
    config: { mcpAllowedHosts: servers.list.map(({ mcp }) => mcp.host) },
  }));
  expectAcceptedRequests(service);

  const ids: string[] = [];
  const byName = (name: string): { id: string; mcp: TestMcpServer } => {
    const index = servers.list.findIndex((server) => server.name.split('-').includes(name));
    return { id: ids[index]!, mcp: servers.list[index]!.mcp };
  };
  before(async () => {
    for (const { name, mcp } of servers.list) {
      const { status, body } = await service.api('POST', '/v1/mcp-servers', { name, url: mcp.url });
      expect(status, JSON.stringify(body)).to.equal(201);
      expect(body.tools).to.have.length(250);
      ids.push(body.id as string);
    }
  });

  const session = (body: object = {}): Promise<string> => service.session({ mcp_servers: ids, ...body });
  const toolset = (name: string, more: object): object => ({
    type: 'mcp_toolset',
    mcp_server_id: byName(name).id,
    ...more,
  });
  const toolsOf = (index: number): string[] =>
    service.model.requests.at(index)!.body.tools!.map((tool) => (tool as { name: string }).name);
  const lastText = (): string => JSON.stringify(service.model.requests.at(-1)!.body.messages.at(-1));
  const search = (query: string, more: object = {}): Reply => [toolUse('search_tools', { query, ...more })];
  const ISSUE = 'mcp__github-gitlab__create_issue';
  const REFUND = 'mcp__stripe-postgres__create_refund';
  const BUILT_IN = ['list_files', 'read_file', 'deliver_file', 'search_tools'];

  it('the tools of a turn that are too many to show are found by search_tools, called by their names, and stay for the session in the order of finding', async () => {
    service.model.reply(
      search('create github issue', { limit: 1 }),
      [toolUse(ISSUE, { owner: 'a', title: 'Broken' })],
      search('create stripe refund', { limit: 1 }),
      'Done.',
      'Again.',
    );
    const id = await session();
    const events = await service.run(id, 'Report it');
    const sizes = service.model.requests.map(({ body }) => Buffer.byteLength(JSON.stringify(body)));
    expect(sizes[0]).to.be.lessThan(100 * KIB);
    expect(toolsOf(0)).to.deep.equal(BUILT_IN);
    expect(toolsOf(1)).to.deep.equal([...BUILT_IN, ISSUE]);
    expect(toolsOf(2)).to.deep.equal([...BUILT_IN, ISSUE]);
    expect(toolsOf(3)).to.deep.equal([...BUILT_IN, ISSUE, REFUND]);
    const uses = events.filter(({ type }) => type === 'agent.tool_use').map(({ name }) => name);
    expect(uses).to.deep.equal(['search_tools', ISSUE, 'search_tools']);
    const { calls } = byName('github').mcp;
    expect(calls.at(-1)).to.deep.include({ name: 'create_issue', arguments: { owner: 'a', title: 'Broken' } });
    const [tool] = service.model.requests[0]!.body.tools!.slice(-1) as { description: string }[];
    expect(tool!.description).to.contain('github-gitlab (250 tools)').and.contain('figma-datadog (250 tools)');

    // The turns so far are summarised: what they found stays.
    await service.db.query(`INSERT INTO compactions (session_id, turn_number, summary) VALUES ($1, 1, 'A summary.')`, [
      id,
    ]);
    await service.run(id, 'And now?');
    expect(JSON.stringify(service.model.requests.at(-1)!.body.messages)).to.contain('A summary.');
    expect(toolsOf(-1)).to.deep.equal([...BUILT_IN, ISSUE, REFUND]);
  });

  it('the tools of a turn that are too many to show says so when no tool is found, and refuses a search without a query', async () => {
    service.model.reply(search('zzz'), search(''), search('issue', { limit: 21 }), 'None.');
    const events = await service.run(await session(), 'Look');
    const results = events.filter(({ type }) => type === 'agent.tool_result');
    expect(results[0]).to.include({ is_error: false });
    expect(results[0].content)
      .to.match(/^No tool has any of these words/)
      .and.contain('github-gitlab (250 tools)');
    expect(results.slice(1).map(({ is_error: isError }) => isError)).to.deep.equal([true, true]);
    expect(toolsOf(-1)).to.deep.equal(BUILT_IN);
  });

  it('the tools of a turn that are too many to show run when they are called without a search, and count as found; approvals are asked for as ever', async () => {
    service.model.reply([toolUse(ISSUE, { owner: 'a' })], 'Done.');
    const asks = { default_config: { permission_policy: { type: 'always_ask' } } };
    const id = await session({ tools: [toolset('github', asks)] });
    await service.send(id, 'Report it');
    let waiting: { tool_use_id: string; name: string }[] = [];
    await eventually('the call waits', async () => {
      waiting = (await service.api('GET', `/v1/sessions/${id}`)).body.required_actions;
      return waiting.length === 1;
    });
    expect(waiting[0]!.name).to.equal(ISSUE);
    const before = byName('github').mcp.calls.length;
    const answer = { type: 'user.tool_confirmation', tool_use_id: waiting[0]!.tool_use_id, result: 'allow' };
    await service.api('POST', `/v1/sessions/${id}/events`, { events: [answer] });
    expect((await service.ended(id)).stop_reason).to.equal('end_turn');
    expect(byName('github').mcp.calls).to.have.length(before + 1);
    expect(toolsOf(-1)).to.deep.equal([...BUILT_IN, ISSUE]);
  });

  it('the tools of a turn that are too many to show come before give_output', async () => {
    service.model.reply(search('create_issue', { limit: 1 }), [toolUse('give_output', { a: 1 })]);
    const id = await session();
    await service.send(id, 'Report it', { output_schema: { type: 'object' } });
    expect((await service.ended(id)).output).to.deep.equal({ a: 1 });
    expect(toolsOf(-1)).to.deep.equal([...BUILT_IN, ISSUE, 'give_output']);
  });

  it('the tools of a turn that are too many to show are those that allowed_tools leaves', async () => {
    const { id } = byName('stripe');
    expect((await service.api('PATCH', `/v1/mcp-servers/${id}`, { allowed_tools: ['get_refund'] })).status).to.equal(
      200,
    );
    service.model.reply(search('create refund stripe', { limit: 20 }), 'Done.');
    await service.run(await session(), 'Refund');
    expect(lastText()).to.contain('mcp__stripe-postgres__get_refund').and.not.contain('create_refund');
    await service.api('PATCH', `/v1/mcp-servers/${id}`, { allowed_tools: null });
  });

  it('the tools of a turn that are too many to show are kept by a turn that goes on', async () => {
    const gate = service.model.gate();
    service.model.reply(search('create_issue', { limit: 1 }), [text('Slow'), { kind: 'wait', for: gate }]);
    const id = await session();
    await service.send(id, 'Report it');
    await gate.reached;
    await service.cancel(id);
    service.model.reply('Done.');
    await service.api('POST', `/v1/sessions/${id}/continue`);
    await service.ended(id);
    expect(toolsOf(-1)).to.deep.equal([...BUILT_IN, ISSUE]);
  });

  it('the tools of a turn that are too many to show fail the turn with a message that names the tools and their server, where they are never deferred', async () => {
    const tools = servers.list.map(({ name }) => toolset(name.split('-')[0]!, { defer: 'never' }));
    const id = await session({ tools });
    await service.send(id, 'Hello');
    const end = await service.ended(id);
    expect(end.error).to.include({ type: 'context_too_long', retryable: false });
    expect(end.error.message).to.match(
      /definitions of the tools do not fit.*MCP server [\w-]+: 250 tools, about \d+ tokens/,
    );
    expect(service.model.requests).to.have.length(0);
  });

  it('the tools of a turn that are too many to show are shown at once where they are few, unless the session has them deferred', async () => {
    const one = [byName('slack').id];
    service.model.reply('Hello.', message([text('Hello.')]));
    await service.run(
      await service.session({ mcp_servers: one, tools: [toolset('slack', { defer: 'never' })] }),
      'Hello',
    );
    expect(toolsOf(-1)).to.have.length(253).and.not.include('search_tools');
    await service.run(
      await service.session({ mcp_servers: one, tools: [toolset('slack', { defer: 'always' })] }),
      'Hello',
    );
    expect(toolsOf(-1)).to.deep.equal(BUILT_IN);
    const refused = await service.api('POST', '/v1/sessions', {
      model_id: 'scripted',
      mcp_servers: one,
      tools: [toolset('slack', { defer: 'sometimes' })],
    });
    expect([refused.status, refused.body.error.details.errors[0].path]).to.deep.equal([422, '/tools/0/defer']);
  });
});

describe('the tools of a turn that are left out', () => {
  const mcp = use(
    () => startMcpServer({ tools: Array.from({ length: 2044 }, (_, n) => ({ name: `t${n}` })) }),
    (started) => started.close(),
  );
  const service = useTurnService(() => ({ config: { mcpAllowedHosts: [mcp.host] } }));

  it('the tools of a turn that are left out are counted in agent.mcp_error, until they are chosen', async () => {
    const { body } = await service.api('POST', '/v1/mcp-servers', { name: 'many', url: mcp.url });
    const id = await service.session({ mcp_servers: [body.id] });
    const errors = async (): Promise<unknown[]> => {
      service.model.reply('Done.');
      return (await service.run(id, 'Go'))
        .filter(({ type }) => type === 'agent.mcp_error')
        .map((event) => event.message);
    };
    expect(await errors()).to.deep.equal([
      'Of 2044 tools of the MCP server 44 are left out of this turn: choose those that the agent needs with allowed_tools.',
    ]);
    await service.api('PATCH', `/v1/mcp-servers/${body.id}`, { allowed_tools: ['t2043'] });
    expect(await errors()).to.deep.equal([]);
    const names = service.model.requests.at(-1)!.body.tools!.map((tool) => (tool as { name: string }).name);
    expect(names).to.include('mcp__many__t2043');
  });
});

/** decisions.md "Money and models", "Tools found by search". */
describe('the tools of a turn that falls back to a model with a smaller window', () => {
  const [server] = manyTools();
  const mcp = use(
    () => startMcpServer({ tools: server!.tools }),
    (started) => started.close(),
  );
  const models = use(
    async () => ({ large: await startScriptedModel(), small: await startScriptedModel() }),
    async ({ large, small }) => {
      await Promise.all([large.close(), small.close()]);
    },
  );
  const service = useTurnService(() => {
    const entry = (id: 'large' | 'small', context_window: number) => ({
      ...TEST_MODEL,
      ...{ id, model: id, base_url: models[id].url, context_window, max_output_tokens: 1000 },
    });
    const config = { mcpAllowedHosts: [mcp.host], toolDefinitionTokens: 100_000, fallbackAfterSeconds: 0 };
    return { models: [entry('large', 1_000_000), entry('small', 60_000)], config };
  });

  it('the tools of a turn that falls back to a model with a smaller window are deferred from there on, without the one that the turn has called', async () => {
    const { body } = await service.api('POST', '/v1/mcp-servers', { name: 'github', url: mcp.url });
    const called = 'mcp__github__create_issue';
    models.large.reply([toolUse(called, { owner: 'a' })], failure('overloaded_error'), failure('overloaded_error'));
    models.small.reply('Done.');
    const id = await service.session({ model_id: 'large', fallback_model_ids: ['small'], mcp_servers: [body.id] });
    const events = await service.run(id, 'Report it');
    expect(events.map(({ type }) => type)).to.include('agent.model_changed');
    const names = ({ requests }: ScriptedModel): string[] =>
      requests.at(-1)!.body.tools!.map((tool) => (tool as { name: string }).name);
    expect(names(models.large)).to.have.length(3 + 125);
    expect(names(models.small)).to.deep.equal(['list_files', 'read_file', 'deliver_file', 'search_tools', called]);
  });
});

import { expect } from 'chai';
import {
  AgentSessionClient,
  ApiError,
  type Confirmation,
  type Decision,
  type NewSession,
  type WaitingCall,
  type StreamEvent,
} from '../../client/src/index.js';
import { eventually } from '../support/eventually.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { useMcpServer, useTurnService } from '../support/use.js';

describe('the client answers calls that wait', () => {
  let client: AgentSessionClient;
  let newSession: () => Promise<string>;
  const mcp = useMcpServer({ tools: [{ name: 'send' }] });
  const service = useTurnService(() => ({ config: { mcpAllowedHosts: [mcp.host] } }));
  before(async () => {
    client = new AgentSessionClient({ baseUrl: service.url, apiKey: service.key, retryForMs: 0 });
    const { id } = await client.registerMcpServer({ name: 'mail', url: mcp.url });
    const tools: NewSession['tools'] = [
      { type: 'mcp_toolset', mcp_server_id: id, default_config: { permission_policy: { type: 'always_ask' } } },
      { type: 'custom', name: 'get_weather', description: 'Weather.', input_schema: { type: 'object' } },
    ];
    newSession = async () => (await client.createSession({ model_id: 'scripted', mcp_servers: [id], tools })).id;
  });
  afterEach(() => {
    service.model.reset();
    mcp.calls.length = 0;
  });

  const weather = (id: string, input = {}) => toolUse('get_weather', input, { id });
  const mail = (id: string) => toolUse('mcp__mail__send', {}, { id });
  const resultsOf = (step: number): string =>
    JSON.stringify(service.model.requests.find((request) => request.step === step)!.body.messages.at(-1));

  it('the client answers calls that wait run calls the functions for custom tools and for confirmations', async () => {
    service.model.on(/Go/, steps([weather('toolu_1', { city: 'Rome' }), mail('toolu_2')], mail('toolu_3'), 'Done.'));
    const asked: WaitingCall[] = [];
    const result = await client.run(
      await newSession(),
      { content: 'Go' },
      {
        actor: 'ada',
        tools: { get_weather: async ({ city }) => `Sunny in ${String(city)}.` },
        confirm: (action) => {
          asked.push(action);
          return action.tool_use_id === 'toolu_2' ? 'allow' : { deny: 'Once is enough.' };
        },
      },
    );
    expect(result).to.include({ status: 'completed', message: 'Done.' });
    expect(asked.map(({ tool_use_id, name }) => `${tool_use_id} ${name}`)).to.deep.equal([
      'toolu_2 mcp__mail__send',
      'toolu_3 mcp__mail__send',
    ]);
    expect(resultsOf(1)).to.include('Sunny in Rome.');
    expect(resultsOf(2)).to.include('Once is enough.');
    expect(mcp.calls).to.have.length(1);
    const answers = result.events.flatMap((event) => ('actor' in event ? [`${event.type} of ${event.actor}`] : []));
    expect(answers).to.have.members([
      'user.custom_tool_result of ada',
      'user.tool_confirmation of ada',
      'user.tool_confirmation of ada',
    ]);
  });

  it('the client answers calls that wait run changes the input of a call, and remembers an approval; confirm does too', async () => {
    service.model.on(/Go/, steps([mail('toolu_1'), mail('toolu_2')], mail('toolu_3'), 'Done.'));
    const decisions: Record<string, Decision> = {
      toolu_1: { allow: { input: { to: 'ada' } } },
      toolu_2: { allow: { remember: 'session' } },
    };
    const session = await newSession();
    const result = await client.run(session, { content: 'Go' }, { confirm: (action) => decisions[action.tool_use_id] });
    expect(result.status).to.equal('completed');
    const answers = result.events.flatMap((event) => (event.type === 'user.tool_confirmation' ? [event] : []));
    expect(answers.map(({ tool_use_id, input, remember }) => [tool_use_id, input, remember])).to.have.deep.members([
      ['toolu_1', { to: 'ada' }, null],
      ['toolu_2', null, 'session'],
    ]);
    // The third call was not asked for.
    expect(mcp.calls).to.have.length(3);

    const other = await newSession();
    const byHand: Confirmation[] = [
      { tool_use_id: 'toolu_1', result: 'allow', input: { to: 'ben' } },
      { tool_use_id: 'toolu_2', result: 'allow', remember: 'session' },
    ];
    const onEvent = async (event: StreamEvent): Promise<void> => {
      if (event.type !== 'agent.requires_action') return;
      for (const one of byHand.splice(0)) await client.confirm(other, one);
    };
    expect(await client.run(other, { content: 'Go' }, { onEvent: (event) => void onEvent(event) })).to.include({
      status: 'completed',
    });
    expect((await client.getSession(other)).remembered_approvals).to.have.length(1);
  });

  it('the client answers calls that wait run reports an exception of a function as the tool’s error', async () => {
    service.model.on(/Go/, steps(weather('toolu_1'), 'Done.'));
    const fail = (): string => {
      throw new Error('No network.');
    };
    await client.run(await newSession(), { content: 'Go' }, { tools: { get_weather: fail } });
    expect(resultsOf(1)).to.include('No network.').and.include('"is_error":true');
  });

  it('the client answers calls that wait run sends what a function returns: a text as it is, nothing as an empty text, everything else as JSON', async () => {
    const values: [unknown, string][] = [
      [{ order: 'A-17', open: true }, '{"order":"A-17","open":true}'],
      [[1, null], '[1,null]'],
      [7, '7'],
      ['plain', 'plain'],
      [undefined, ''],
    ];
    for (const [value, content] of values) {
      service.model.on(/Go/, steps(weather('toolu_1', { city: 'Rome' }), 'Done.'));
      const tools = { get_weather: ({ city }: { city: string }) => (city === 'Rome' ? value : 'another city') };
      const { events } = await client.run(await newSession(), { content: 'Go' }, { tools });
      const result = events.find(({ type }) => type === 'user.custom_tool_result');
      expect(result).to.include({ content, is_error: false });
      service.model.reset();
    }
  });

  it('the client answers calls that wait run fails when confirm throws, and the call stays open', async () => {
    service.model.on(/Go/, steps(mail('toolu_1'), 'Done.'));
    const session = await newSession();
    const seen: string[] = [];
    const reason = new Error('nobody is here');
    const confirm = (): never => {
      expect(seen.at(-1)).to.equal('agent.requires_action');
      throw reason;
    };
    const onEvent = ({ type }: StreamEvent): void => void seen.push(type);
    const running = client.run(session, { content: 'Go' }, { confirm, onEvent });
    expect(await running.catch((error: unknown) => error)).to.equal(reason);
    expect((await client.getSession(session)).required_actions).to.have.length(1);
    await client.cancelTurn(session);
  });

  it('the client answers calls that wait run leaves a call open when confirm returns nothing, for another client to answer', async () => {
    service.model.on(/Go/, steps([mail('toolu_1'), mail('toolu_2')], 'Done.'));
    const session = await newSession();
    const running = client.run(
      session,
      { content: 'Go' },
      { confirm: ({ tool_use_id }) => (tool_use_id === 'toolu_1' ? 'allow' : undefined) },
    );
    await eventually('the allowed call', () => mcp.calls.length === 1);
    const { required_actions } = await client.getSession(session);
    expect(required_actions).to.have.length(1);
    expect(required_actions[0]).to.include({ tool_use_id: 'toolu_2' });
    await client.confirm(session, { tool_use_id: 'toolu_2', result: 'allow', actor: 'ben' });
    const { events } = await running;
    const answers = events.flatMap((event) => ('actor' in event ? [event.actor] : []));
    expect(answers).to.deep.equal([null, 'ben']);
    expect(mcp.calls).to.have.length(2);
  });

  it('the client answers calls that wait run leaves a call open for which it has no function, and accepts that another client was faster', async () => {
    service.model.on(/Go/, steps([weather('toolu_1'), mail('toolu_2')], 'Done.'));
    const session = await newSession();
    const confirm = async (): Promise<'allow'> => {
      await client.confirm(session, { tool_use_id: 'toolu_2', result: 'deny' });
      const event = await client.answer(session, { tool_use_id: 'toolu_1', content: 'Rain.' });
      expect(event).to.include({ type: 'user.custom_tool_result', content: 'Rain.', is_error: false });
      return 'allow';
    };
    const result = await client.run(session, { content: 'Go' }, { confirm });
    expect(result.status).to.equal('completed');
    expect(mcp.calls).to.deep.equal([]);
  });

  it('the client answers calls that wait run fails when an answer is refused, instead of waiting for ever', async () => {
    service.model.on(/Go/, steps(weather('toolu_1'), 'Done.'));
    const session = await newSession();
    const tools = { get_weather: () => 'x'.repeat(100_001) };
    const error: unknown = await client.run(session, { content: 'Go' }, { tools }).catch((reason: unknown) => reason);
    expect(error instanceof ApiError && error.is('validation_error')).to.equal(true);
    const { items } = await client.listSessions({ requires_action: true });
    expect(items.map(({ id }) => id)).to.deep.equal([session]);
    await client.cancelTurn(session);
  });

  it('the client answers calls that wait run answers questions of MCP servers, once each', async () => {
    mcp.options.tools!.push({
      name: 'deploy',
      run: async ({ ask }) => {
        const form = { type: 'object' as const, properties: { branch: { type: 'string' as const } } };
        const filled = await ask({ mode: 'form', message: 'Which branch?', requestedSchema: form });
        const opened = await ask({
          mode: 'url',
          message: 'Pay.',
          elicitationId: 'p1',
          url: 'https://pay.example.com/',
        });
        return `${String(filled.content?.branch)} ${opened.action}`;
      },
    });
    const { id } = await client.registerMcpServer({ name: 'ops', url: `${mcp.url}?ops` });
    const { id: sessionId } = await client.createSession({
      model_id: 'scripted',
      mcp_servers: [id],
      tools: [{ type: 'mcp_toolset', mcp_server_id: id, elicitation: true }],
    });
    service.model.on(/Go/, steps([toolUse('mcp__ops__deploy', {}, { id: 'toolu_1' })], 'Done.'));
    const asked: string[] = [];
    const result = await client.run(
      sessionId,
      { content: 'Go' },
      {
        actor: 'ada',
        elicit: (question) => {
          asked.push(question.mode === 'form' ? question.message : question.url);
          return question.mode === 'form' ? { accept: { branch: 'main' } } : 'decline';
        },
      },
    );
    expect(asked).to.deep.equal(['Which branch?', 'https://pay.example.com/']);
    const toolResult = result.events.find((event) => event.type === 'agent.tool_result');
    expect(toolResult).to.include({ content: 'main decline', is_error: false });
    const answers = result.events.filter((event) => event.type === 'user.elicitation_result');
    expect(answers.map(({ actor }) => actor)).to.deep.equal(['ada', 'ada']);
  });
});

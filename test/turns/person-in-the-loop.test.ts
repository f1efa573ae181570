import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { sampleOf } from '../support/metrics.js';
import { message, steps, toolUse } from '../support/scripted-model.js';
import { startTurnService } from '../support/turns.js';
import { confirmation, customResult, customTool, requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { expectAcceptedRequests, useRegisteredMcp } from '../support/use.js';

const use = (name: string, id: string, input: object = {}) => toolUse(name, input as Record<string, unknown>, { id });

/** decisions.md "Person in the loop", "Waiting" and "Answering". */
describe('a turn with a person in the loop', function () {
  this.timeout(60_000);
  const { mcp, service, registered } = useRegisteredMcp(
    'mail',
    { tools: ['send', 'search', 'slow'].map((name) => ({ name })) },
    {
      own: 'gauges are read from the newest service of a process',
    },
  );
  expectAcceptedRequests(service);
  afterEach(() => {
    mcp.calls.length = 0;
  });

  const ask = { permission_policy: { type: 'always_ask' } };
  const toolset = () => ({ type: 'mcp_toolset', mcp_server_id: registered.id, configs: [{ name: 'send', ...ask }] });
  /** A session with a tool that asks and a custom one, whose turn waits for `count` answers. */
  const waitingTurn = async (
    calls: ReturnType<typeof use>[],
    count = calls.length,
    ...then: Parameters<typeof steps>
  ) => {
    service.model.on(/Go/, steps(message(calls), ...(then.length > 0 ? then : ['Done.'])));
    const sessionId = await service.session({
      thinking_enabled: false,
      mcp_servers: [registered.id],
      tools: [toolset(), customTool('get_weather')],
    });
    const turnId = await service.send(sessionId, 'Go');
    return { sessionId, turnId, actions: await requiredActions(service, sessionId, count) };
  };
  const answer = (sessionId: string, ...events: object[]) => sendAnswers(service, sessionId, events);
  const typesOf = (events: { type: string }[]): string[] => events.map(({ type }) => type);
  const toldAtStep = (step: number): string =>
    JSON.stringify(service.model.requests.find((request) => request.step === step)!.body.messages.at(-1));

  it('a turn with a person in the loop runs a call that a person allowed, and lists the open calls for the client', async () => {
    const { sessionId, turnId, actions } = await waitingTurn([use('mcp__mail__send', 'toolu_1', { to: 'ada' })]);
    const [{ expires_at, ...action }] = actions;
    expect(action).to.deep.equal({
      type: 'tool_confirmation',
      tool_use_id: 'toolu_1',
      name: 'mcp__mail__send',
      input: { to: 'ada' },
      title: null,
      annotations: { read_only: null, destructive: null, idempotent: null, open_world: null },
    });
    expect(Date.parse(expires_at) - Date.now()).to.be.within(86_000_000, 86_400_000);
    expect(mcp.calls).to.deep.equal([]);

    const { status, body } = await answer(sessionId, confirmation('toolu_1', 'allow'));
    expect(status).to.equal(201);
    expect(body.items).to.have.length(1);
    expect(body.items[0]).to.deep.include({
      type: 'user.tool_confirmation',
      turn_id: turnId,
      tool_use_id: 'toolu_1',
      result: 'allow',
      deny_message: null,
      actor: null,
    });
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect(mcp.calls.map(({ name }) => name)).to.deep.equal(['send']);
    const events = await service.history(sessionId);
    expect(typesOf(events)).to.deep.equal([
      'user.message',
      'agent.tool_use',
      'agent.requires_action',
      'user.tool_confirmation',
      'agent.tool_result',
      'agent.message',
      'turn.completed',
    ]);
    expect(events[1]).to.include({ evaluated_permission: 'ask' });
    expect(events[2].required_actions).to.deep.equal(actions);
    expect((await service.api('GET', `/v1/sessions/${sessionId}`)).body.required_actions).to.deep.equal([]);
  });

  it('a turn with a person in the loop gives the model what the client’s tool returned; the client’s event alone closes the call', async () => {
    const { sessionId, actions } = await waitingTurn([use('get_weather', 'toolu_1', { city: 'Rome' })]);
    expect(actions[0]).to.deep.include({ type: 'custom_tool_result', name: 'get_weather', input: { city: 'Rome' } });
    const { body } = await answer(sessionId, customResult('toolu_1', 'It rains.'));
    expect(body.items[0]).to.deep.include({ type: 'user.custom_tool_result', content: 'It rains.', is_error: false });
    await service.ended(sessionId);
    const events = await service.history(sessionId);
    expect(typesOf(events)).to.deep.equal([
      'user.message',
      'agent.custom_tool_use',
      'agent.requires_action',
      'user.custom_tool_result',
      'agent.message',
      'turn.completed',
    ]);
    expect(events[1]).to.deep.include({ tool_use_id: 'toolu_1', name: 'get_weather', input: { city: 'Rome' } });
    expect(events[1]).to.not.have.property('evaluated_permission');
    expect(toldAtStep(1)).to.include('It rains.').and.not.include('is_error');
    const offered = service.model.requests[0]!.body.tools!.map((tool) => (tool as { name: string }).name);
    expect(offered.at(-1)).to.equal('get_weather');
  });

  it('a turn with a person in the loop passes an error of the client’s tool to the model', async () => {
    const { sessionId } = await waitingTurn([use('get_weather', 'toolu_1')]);
    await answer(sessionId, customResult('toolu_1', 'No network.', true));
    await service.ended(sessionId);
    expect(toldAtStep(1)).to.include('No network.').and.include('"is_error":true');
  });

  it('a turn with a person in the loop stores a long result whole, and shortens it for the model', async () => {
    const content = 'ä'.repeat(100_000);
    const { sessionId } = await waitingTurn([use('get_weather', 'toolu_1')]);
    const { body } = await answer(sessionId, customResult('toolu_1', content));
    expect(body.items[0].content).to.equal(content);
    await service.ended(sessionId);
    expect(toldAtStep(1).length).to.be.below(20_000);
  });

  it('a turn with a person in the loop runs calls that need no answer first, then asks for all others in their order', async () => {
    const { sessionId, actions } = await waitingTurn(
      [
        use('mcp__mail__send', 'toolu_1', { n: 1 }),
        use('mcp__mail__search', 'toolu_2'),
        use('get_weather', 'toolu_3'),
        use('list_files', 'toolu_4'),
        use('mcp__mail__send', 'toolu_5', { n: 2 }),
      ],
      3,
    );
    expect(actions.map(({ tool_use_id }) => tool_use_id)).to.deep.equal(['toolu_1', 'toolu_3', 'toolu_5']);
    const before = await service.history(sessionId);
    expect(typesOf(before).slice(-3)).to.deep.equal([
      'agent.tool_result',
      'agent.tool_result',
      'agent.requires_action',
    ]);
    const permissions = before
      .filter(({ type }) => type === 'agent.tool_use')
      .map((event) => event.evaluated_permission);
    expect(permissions).to.deep.equal(['ask', 'allow', 'allow', 'ask']);

    await answer(sessionId, customResult('toolu_3', 'Sun.'));
    expect((await requiredActions(service, sessionId, 2)).map(({ expires_at }) => expires_at)).to.deep.equal(
      [actions[0], actions[2]].map(({ expires_at }) => expires_at),
    );
    const asked = (await service.history(sessionId)).at(-1);
    expect(asked).to.deep.include({ type: 'agent.requires_action', required_actions: [actions[0], actions[2]] });
    await answer(sessionId, confirmation('toolu_5', 'allow'), confirmation('toolu_1', 'allow'));
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    const after = await service.history(sessionId);
    expect(after.filter(({ type }) => type === 'agent.requires_action')).to.have.length(2);
    expect(mcp.calls.map(({ name }) => name)).to.deep.equal(['search', 'send', 'send']);
  });

  it('a turn with a person in the loop runs an allowed call without waiting for the other answers', async () => {
    const { sessionId } = await waitingTurn([use('mcp__mail__send', 'toolu_1'), use('get_weather', 'toolu_2')]);
    await answer(sessionId, confirmation('toolu_1', 'allow'));
    const stream = await service.stream(sessionId);
    await stream.until(({ event }) => event === 'agent.tool_result');
    expect(await requiredActions(service, sessionId)).to.have.length(1);
    expect(mcp.calls).to.have.length(1);
    await answer(sessionId, customResult('toolu_2', 'Sun.'));
    await stream.ended;
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
  });

  it('a turn with a person in the loop passes a denial and its reason to the model, and never asks for the same call again in the turn', async () => {
    const again = [
      use('mcp__mail__send', 'toolu_2', { b: [1, { d: 2 }], a: 1.0 }),
      use('mcp__mail__send', 'toolu_3', { a: 2, b: [] }),
    ];
    const { sessionId } = await waitingTurn(
      [use('mcp__mail__send', 'toolu_1', { a: 1, b: [1, { d: 2 }] })],
      1,
      message(again),
      'Done.',
    );
    await answer(sessionId, confirmation('toolu_1', 'deny', 'Ask Bob first.'));
    const actions = await requiredActions(service, sessionId, 1);
    let open = actions;
    await eventually('the next call asks', async () => {
      open = await requiredActions(service, sessionId, 1);
      return open[0].tool_use_id === 'toolu_3';
    });
    expect(toldAtStep(1)).to.include('denied by a person').and.include('Ask Bob first.').and.include('"is_error":true');
    await answer(sessionId, confirmation('toolu_3', 'deny'));
    await service.ended(sessionId);
    expect(mcp.calls).to.deep.equal([]);
    const events = await service.history(sessionId);
    const results = events.filter(({ type }) => type === 'agent.tool_result');
    expect(results.map(({ tool_use_id, is_error }) => [tool_use_id, is_error])).to.deep.equal([
      ['toolu_1', true],
      ['toolu_2', true],
      ['toolu_3', true],
    ]);
    expect(results[1].content).to.include('earlier in this turn').and.include('Ask Bob first.');
    expect(toldAtStep(2)).to.include('earlier in this turn');

    service.model.on(/Next/, steps(use('mcp__mail__send', 'toolu_4', { a: 1, b: [1, { d: 2 }] }), 'Sent.'));
    await service.send(sessionId, 'Next');
    await requiredActions(service, sessionId);
    await answer(sessionId, confirmation('toolu_4', 'allow'));
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect(mcp.calls).to.have.length(1);
  });

  it('a turn with a person in the loop is counted: waiting turns, the age of the oldest question, answers by kind', async () => {
    const sample = (name: string): Promise<number> => sampleOf(service, name);
    const answers = 'required_actions_closed_total{answer="result"}';
    const before = (await sample(answers)) || 0;
    const { sessionId } = await waitingTurn([use('get_weather', 'toolu_1')]);
    expect(await sample('turns_waiting')).to.equal(1);
    expect(await sample('turns_oldest_waiting_seconds')).to.be.within(0.0001, 60);
    expect(await sample('projects_full')).to.equal(0);
    await service.db.query(`UPDATE projects SET max_running_turns = 1 WHERE name = 'demo'`);
    expect(await sample('projects_full')).to.equal(1);
    await service.db.query(`UPDATE projects SET max_running_turns = 100 WHERE name = 'demo'`);
    await answer(sessionId, customResult('toolu_1', 'Sun.'));
    await service.ended(sessionId);
    expect(await sample('turns_waiting')).to.equal(0);
    expect(await sample(answers)).to.equal(before + 1);
  });

  it('a turn with a person in the loop blocks the session while it waits, and shows what it waits for', async () => {
    const { sessionId, actions } = await waitingTurn([use('get_weather', 'toolu_1')]);
    for (const [method, path, body] of [
      ['POST', '/messages', { content: 'Go on' }],
      ['DELETE', '', undefined],
    ] as const) {
      const refused = await service.api(method, `/v1/sessions/${sessionId}${path}`, body);
      expect([refused.status, refused.body.error.type]).to.deep.equal([409, 'session_running']);
      expect(refused.body.error.details).to.deep.equal({ required_actions: actions });
    }
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    await service.ended(sessionId);
  });

  it('a turn with a person in the loop ends at once when it is cancelled, with its usage', async () => {
    const { sessionId } = await waitingTurn([use('get_weather', 'toolu_1')]);
    const before = performance.now();
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    const end = await service.ended(sessionId);
    // The promise is 2 s; the rest is room for a busy machine.
    expect(performance.now() - before).to.be.below(10_000);
    expect(end).to.include({ type: 'turn.cancelled' });
    expect(end.usage.input_tokens).to.be.above(0);
    expect(end.timing.waiting_ms).to.be.a('number');
    const refused = await answer(sessionId, customResult('toolu_1', 'Sun.'));
    expect([refused.status, refused.body.error.details.state]).to.deep.equal([409, 'cancelled']);
    expect((await service.api('GET', `/v1/sessions/${sessionId}`)).body.required_actions).to.deep.equal([]);

    service.model.on(/Next/, 'Fine.');
    await service.send(sessionId, 'Next');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
  });

  it('a turn with a person in the loop reports the time it waited apart from the other phases', async () => {
    const { sessionId } = await waitingTurn([use('mcp__mail__send', 'toolu_1')]);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await answer(sessionId, confirmation('toolu_1', 'allow'));
    const { timing } = await service.ended(sessionId);
    expect(timing.waiting_ms).to.be.within(1400, timing.total_ms);
    expect(timing.tools_ms).to.be.within(0, timing.total_ms - timing.waiting_ms);
    expect(timing.model_ms).to.be.within(0, timing.total_ms - timing.waiting_ms);

    const plain = await service.session({});
    await service.send(plain, 'Hello');
    expect((await service.ended(plain)).timing.waiting_ms).to.equal(null);
  });

  it('a turn with a person in the loop does not wait for an answer at the last step of a turn', async () => {
    const short = await startTurnService({ config: { maxSteps: 1, mcpAllowedHosts: [mcp.host] } });
    short.model.on(/Go/, steps(use('get_weather', 'toolu_1')));
    const sessionId = await short.session({ tools: [customTool('get_weather')] });
    await short.send(sessionId, 'Go');
    expect(await short.ended(sessionId)).to.include({ type: 'turn.completed', stop_reason: 'max_steps' });
    expect((await short.history(sessionId)).find(({ type }) => type === 'agent.tool_result')).to.include({
      is_error: true,
    });
    await short.close();
  });

  it('a turn with a person in the loop shows permissions only in sessions with tools', async () => {
    service.model.on(/Go/, steps(use('list_files', 'toolu_1'), 'Done.'));
    const sessionId = await service.session({});
    await service.send(sessionId, 'Go');
    await service.ended(sessionId);
    const event = (await service.history(sessionId)).find(({ type }) => type === 'agent.tool_use');
    expect(event).to.not.have.property('evaluated_permission');
  });
});

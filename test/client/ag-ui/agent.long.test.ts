import { expect } from 'chai';
import { EventType, type BaseEvent, type Message } from '@ag-ui/client';
import { AgentSessionAgent, toSessionTools } from '../../../client/src/ag-ui/index.js';
import { AgentSessionClient } from '../../../client/src/index.js';
import { eventually } from '../../support/eventually.js';
import { cut, message, steps, text, thinking, toolUse, wait } from '../../support/scripted-model.js';
import { newToken } from '../../support/tokens.js';
import { expectAcceptedRequests, useRegisteredMcp } from '../../support/use.js';
import { askingTools } from '../../support/waiting-turns.js';

const use = (name: string, id: string, input: object = {}) => toolUse(name, input as Record<string, unknown>, { id });

interface Asked {
  responseSchema: { properties: { input: { type: string } } };
  metadata: object;
}

/** docs/decisions.md "Front ends" with the package `@ag-ui/client`, which verifies the order of the events. */
describe('an agent of AG-UI', function () {
  this.timeout(20_000);
  const { service, registered } = useRegisteredMcp('mail', { tools: ['send', 'search'].map((name) => ({ name })) });
  expectAcceptedRequests(service);

  const session = (): Promise<string> =>
    service.session({
      mcp_servers: [registered.id],
      tools: askingTools(registered.id),
    });
  const agentOf = (threadId: string, apiKey = service.key): AgentSessionAgent =>
    new AgentSessionAgent({ client: new AgentSessionClient({ baseUrl: service.url, apiKey }), threadId });
  const say = (agent: AgentSessionAgent, content: string, id = `m-${content}`): void =>
    agent.addMessage({ id, role: 'user', content });
  const runOf = async (
    agent: AgentSessionAgent,
    parameters: Parameters<AgentSessionAgent['runAgent']>[0] = {},
  ): Promise<BaseEvent[]> => {
    const events: BaseEvent[] = [];
    await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });
    return events;
  };
  const outcomeOf = (events: BaseEvent[]): unknown => (events.at(-1) as unknown as { outcome?: unknown }).outcome;
  const rolesOf = ({ messages }: { messages: Message[] }): string[] => messages.map(({ role }) => role);
  /** After a reload the page shows the same. */
  const expectSameAfterReload = async (agent: AgentSessionAgent): Promise<void> => {
    const other = agentOf(agent.threadId);
    await other.connectAgent();
    const shown = (messages: Message[]): object[] =>
      messages.map(({ id, role, ...rest }) =>
        JSON.parse(JSON.stringify(role === 'user' ? rest : { id, role, ...rest })),
      );
    expect(shown(other.messages)).to.deep.equal(shown(agent.messages));
  };

  it('an agent of AG-UI runs a turn: thinking, text, calls and results under the ids of the service', async () => {
    service.model.on(
      /Go/,
      steps(message([thinking('Hm.'), text('I look.'), use('mcp__mail__search', 'toolu_1')]), 'Done.'),
    );
    const agent = agentOf(await session());
    say(agent, 'Go');
    const events = await runOf(agent);
    expect(events[0]!.type).to.equal(EventType.RUN_STARTED);
    expect(outcomeOf(events)).to.deep.equal({ type: 'success' });
    expect((events.at(-1) as unknown as { usage: object[] }).usage[0]).to.have.property('outputTokens');
    expect(rolesOf(agent)).to.deep.equal(['user', 'reasoning', 'assistant', 'tool', 'assistant']);
    const [, , step] = agent.messages as [unknown, unknown, { id: string; toolCalls: { id: string }[] }];
    expect(step.id).to.match(/^msg_/);
    expect(step.toolCalls.map(({ id }) => id)).to.deep.equal(['toolu_1']);
    await expectSameAfterReload(agent);
  });

  it('an agent of AG-UI leaves the tools of the page to the page, and goes on with their results', async () => {
    service.model.on(/Go/, steps(message([use('get_weather', 'toolu_1', { city: 'Oslo' })]), 'Cold.'));
    const agent = agentOf(await session());
    say(agent, 'Go');
    expect(outcomeOf(await runOf(agent))).to.deep.equal({ type: 'success', pendingToolCallIds: ['toolu_1'] });
    agent.addMessage({ id: 't1', role: 'tool', toolCallId: 'toolu_1', content: '', error: 'No network.' });
    expect(outcomeOf(await runOf(agent))).to.deep.equal({ type: 'success' });
    expect(rolesOf(agent)).to.deep.equal(['user', 'assistant', 'tool', 'assistant']);
    const result = (await service.history(agent.threadId)).find(({ type }) => type === 'user.custom_tool_result');
    expect(result).to.include({ content: 'No network.', is_error: true });
  });

  it('an agent of AG-UI asks for approvals as interrupts, after the tools of the page, and takes resume', async () => {
    service.model.on(/Go/, steps(message([use('mcp__mail__send', 'toolu_1'), use('get_weather', 'toolu_2')]), 'Done.'));
    const agent = agentOf(await session());
    say(agent, 'Go');
    expect(outcomeOf(await runOf(agent))).to.deep.equal({ type: 'success', pendingToolCallIds: ['toolu_2'] });
    agent.addMessage({ id: 't2', role: 'tool', toolCallId: 'toolu_2', content: 'Cold.' });
    const [interrupt] = (outcomeOf(await runOf(agent)) as { interrupts: Record<string, unknown>[] }).interrupts;
    expect(interrupt).to.include({ id: 'toolu_1', reason: 'tool_confirmation', toolCallId: 'toolu_1' });
    expect(interrupt!.expiresAt).to.be.a('string');
    const events = await runOf(agent, {
      resume: [{ interruptId: 'toolu_1', status: 'resolved', payload: { approved: false, reason: 'No.' } }],
    });
    expect(outcomeOf(events)).to.deep.equal({ type: 'success' });
    const answer = (await service.history(agent.threadId)).find(({ type }) => type === 'user.tool_confirmation');
    expect(answer).to.include({ result: 'deny', deny_message: 'No.' });
    expect(agent.messages.filter(({ role }) => role === 'tool')).to.have.length(2);
  });

  it('an agent of AG-UI connects to a turn that waits, and denies what is cancelled', async () => {
    service.model.on(/Go/, steps(message([text('First.'), use('mcp__mail__send', 'toolu_1')]), 'Not sent.'));
    const id = await session();
    await service.send(id, 'Go');
    const agent = agentOf(id, await newToken(service, id));
    await eventually('it waits', async () => {
      await agent.connectAgent().catch(() => undefined);
      return agent.pendingInterrupts.length === 1;
    });
    expect(rolesOf(agent)).to.deep.equal(['user', 'assistant']);
    await runOf(agent, { resume: [{ interruptId: 'toolu_1', status: 'cancelled' }] });
    expect(rolesOf(agent)).to.deep.equal(['user', 'assistant', 'tool', 'assistant']);
    await expectSameAfterReload(agent);
  });

  it('an agent of AG-UI connects again while it knows something as open that another page has answered', async () => {
    service.model.on(/Go/, steps(message([text('First.'), use('mcp__mail__send', 'toolu_1')]), 'Sent.'));
    const one = agentOf(await session());
    say(one, 'Go');
    await runOf(one);
    const two = agentOf(one.threadId);
    await two.connectAgent();
    expect([one, two].map(({ pendingInterrupts }) => pendingInterrupts.length)).to.deep.equal([1, 1]);
    await runOf(two, { resume: [{ interruptId: 'toolu_1', status: 'resolved', payload: { approved: true } }] });
    await one.connectAgent();
    expect([one.pendingInterrupts, one.messages.at(-1)!.content]).to.deep.equal([[], 'Sent.']);
    // Its next message is a run like any other.
    service.model.on(/More/, 'More.');
    say(one, 'More');
    expect(outcomeOf(await runOf(one))).to.deep.equal({ type: 'success' });
    await two.connectAgent();
    await expectSameAfterReload(two);
  });

  it('an agent of AG-UI shows in a late tab what happened when its answer is for a call that another one has closed', async () => {
    service.model.on(/Go/, steps(message([use('mcp__mail__send', 'toolu_1')]), 'Not sent.'));
    const one = agentOf(await session());
    say(one, 'Go');
    await runOf(one);
    const two = agentOf(one.threadId);
    await two.connectAgent();
    await runOf(two, { resume: [{ interruptId: 'toolu_1', status: 'resolved', payload: { approved: false } }] });
    const late = await runOf(one, {
      resume: [{ interruptId: 'toolu_1', status: 'resolved', payload: { approved: true } }],
    });
    expect(outcomeOf(late)).to.deep.equal({ type: 'success' });
    expect(one.messages.at(-1)!.content).to.equal('Not sent.');
    await expectSameAfterReload(one);
  });

  it('an agent of AG-UI forgets what a model call showed that is made again', async () => {
    service.model.reply([text('Wrong begin'), cut()], 'Right.');
    const agent = agentOf(await session());
    say(agent, 'Go');
    await runOf(agent);
    expect(agent.messages.map(({ content }) => content)).to.deep.equal(['Go', 'Right.']);
  });

  it('an agent of AG-UI cancels by abortRun, and leaves the turn alone by detachActiveRun', async () => {
    const gate = service.model.gate();
    service.model.reply([text('Begun.'), wait(gate)]);
    const agent = agentOf(await session());
    say(agent, 'Go');
    const detached = runOf(agent);
    await eventually('text shows', () => rolesOf(agent).includes('assistant'));
    await agent.detachActiveRun();
    await detached;
    expect((await service.api('GET', `/v1/sessions/${agent.threadId}`)).body.status).to.equal('RUNNING');
    const again = agentOf(agent.threadId);
    const connected = again.connectAgent();
    await eventually('text shows', () => rolesOf(again).includes('assistant'));
    again.abortRun();
    await connected;
    expect(await service.ended(agent.threadId)).to.include({ type: 'turn.cancelled' });
    gate.open();
  });

  it('an agent of AG-UI sends a message once, and can be cloned', async () => {
    service.model.reply('Once.');
    const agent = agentOf(await session());
    say(agent, 'Hello');
    const copy = agent.clone();
    await runOf(agent);
    await runOf(copy);
    expect((await service.history(agent.threadId)).filter(({ type }) => type === 'user.message')).to.have.length(1);
    expect(copy.messages).to.deep.equal(agent.messages);
  });

  it('an agent of AG-UI answers again, and an edited message, when messages are cut back, in forks of forks with tokens of their own', async () => {
    service.model.on(/./, ({ userText }) => text(`To ${userText}`));
    const id = await session();
    await service.run(id, 'A');
    await service.run(id, 'B');
    const forks: (string | undefined)[] = [];
    const agent = new AgentSessionAgent({
      client: new AgentSessionClient({ baseUrl: service.url, apiKey: await newToken(service, id) }),
      threadId: id,
      onFork: ({ threadId, session: fork, token }) => {
        expect(threadId).to.equal(id);
        forks.push(fork.id);
        expect(token).to.match(/^sst_/);
      },
    });
    const texts = (): unknown[] => agent.messages.map(({ content }) => content);
    const cut = (length: number): void => agent.setMessages(agent.messages.slice(0, length));
    const run = async (): Promise<void> => {
      expect(outcomeOf(await runOf(agent))).to.deep.equal({ type: 'success' });
    };
    await agent.connectAgent();
    say(agent, 'C');
    await run();
    expect(forks).to.deep.equal([]);
    // The last message is answered again.
    cut(5);
    await run();
    expect([forks.length, texts()]).to.deep.equal([1, ['A', 'To A', 'B', 'To B', 'C', 'To C']]);
    // The second is edited, and what follows it in the copy of the copy is answered again.
    cut(2);
    say(agent, 'D');
    await run();
    say(agent, 'E');
    await run();
    cut(3);
    await run();
    expect([forks.length, texts()]).to.deep.equal([3, ['A', 'To A', 'D', 'To D']]);
    // The first is edited, which only the first session has a turn of.
    cut(0);
    say(agent, 'F');
    await run();
    say(agent, 'G');
    await run();
    expect([new Set(forks).size, texts()]).to.deep.equal([4, ['F', 'To F', 'G', 'To G']]);
    const said = service.model.requests.at(-1)!.body.messages.map(({ content }) => JSON.stringify(content));
    expect(said.map((content) => [...content.matchAll(/"text":"([^"]*)"/g)].at(-1)?.[1])).to.deep.equal([
      'F',
      'To F',
      'G',
    ]);
    // Another page that shows the copy sees the same.
    const other = agentOf(forks.at(-1)!);
    await other.connectAgent();
    expect(other.messages.map(({ content }) => content)).to.deep.equal(texts());
    // A page that leaves out old messages has cut nothing back.
    agent.setMessages(agent.messages.slice(2));
    say(agent, 'H');
    await run();
    expect(forks).to.have.length(4);
  });

  it('an agent of AG-UI whose token lacks the scope `fork` ends with an error that names it', async () => {
    service.model.on(/Go/, 'Done.');
    const id = await session();
    const agent = agentOf(id, await newToken(service, id, { scopes: ['read', 'send'] }));
    say(agent, 'Go');
    await runOf(agent);
    agent.setMessages(agent.messages.slice(0, 1));
    const events: BaseEvent[] = [];
    await agent.runAgent({}, { onEvent: ({ event }) => void events.push(event) }).catch(() => undefined);
    expect(events.at(-1)).to.deep.include({ type: EventType.RUN_ERROR, code: 'insufficient_scope' });
    expect((events.at(-1) as unknown as { message: string }).message).to.include('the scope fork');
  });

  it('an agent of AG-UI says that an approval may change the input, and takes one that does, or that is remembered', async () => {
    service.model.on(
      /Go/,
      steps(
        message([use('mcp__mail__send', 'toolu_1', { to: 'ada' })]),
        message([use('mcp__mail__send', 'toolu_2')]),
        'Done.',
      ),
    );
    const agent = agentOf(await session());
    say(agent, 'Go');
    const [interrupt] = (outcomeOf(await runOf(agent)) as { interrupts: Asked[] }).interrupts;
    expect(interrupt!.responseSchema.properties.input.type).to.equal('object');
    expect(interrupt!.metadata).to.have.all.keys('title', 'annotations');
    const resume = (interruptId: string, payload: object) =>
      runOf(agent, { resume: [{ interruptId, status: 'resolved', payload: { approved: true, ...payload } }] });
    await resume('toolu_1', { input: { to: 'bob' } });
    await resume('toolu_2', { remember: 'session' });
    const history = await service.history(agent.threadId);
    expect(
      history.filter(({ type }) => type === 'user.tool_confirmation').map(({ input, remember }) => [input, remember]),
    ).to.deep.equal([
      [{ to: 'bob' }, null],
      [null, 'session'],
    ]);
  });

  it('an agent of AG-UI has nothing to run without a message: an error of the run', async () => {
    const agent = agentOf(await session());
    const types: string[] = [];
    await agent.runAgent({}, { onEvent: ({ event }) => void types.push(event.type) }).catch(() => undefined);
    expect(types.at(-1)).to.equal(EventType.RUN_ERROR);
  });

  it('an agent of AG-UI makes tools of the page into those of a session', async () => {
    const tools = toSessionTools([
      { name: 'pick', description: 'Picks.', parameters: { type: 'object', properties: { n: { type: 'integer' } } } },
      { name: 'none', description: 'Takes nothing.' },
    ]);
    const { status, body } = await service.api('POST', '/v1/sessions', { model_id: 'scripted', tools });
    expect([status, body.tools]).to.deep.equal([201, tools]);
  });
});

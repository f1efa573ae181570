import { expect } from 'chai';
import { EventType, type BaseEvent } from '@ag-ui/client';
import { AgentSessionAgent } from '../../../client/src/ag-ui/index.js';
import { AgentSessionClient } from '../../../client/src/index.js';
import { eventually } from '../../support/eventually.js';
import { budget, tokens } from '../../support/money.js';
import { failure, message, steps, text, toolUse, wait } from '../../support/scripted-model.js';
import { expectAcceptedRequests } from '../../support/use.js';
import { FORM, useWaitingService } from '../../support/waiting-service.js';

const use = (name: string, input: Record<string, unknown> = {}) => toolUse(name, input, { id: 'toolu_1' });

interface Finish {
  outcome: { type: string; interrupts?: Record<string, unknown>[] };
  result?: unknown;
}

/** docs/decisions.md "Front ends" with the package `@ag-ui/client`: questions, waits without an interrupt, outputs, and ends. */
describe('an agent of AG-UI whose turn waits or ends', function () {
  this.timeout(20_000);
  const { service, session, notes } = useWaitingService();
  expectAcceptedRequests(service);

  const agentOf = (threadId: string): AgentSessionAgent =>
    new AgentSessionAgent({ client: new AgentSessionClient({ baseUrl: service.url, apiKey: service.key }), threadId });
  /** The events of a run, while it goes on too. */
  const start = (
    agent: AgentSessionAgent,
    parameters: Parameters<AgentSessionAgent['runAgent']>[0] = {},
  ): { events: BaseEvent[]; over: Promise<unknown> } => {
    const events: BaseEvent[] = [];
    const over = agent
      .runAgent(parameters, { onEvent: ({ event }) => void events.push(event) })
      .catch((error: unknown) => error);
    return { events, over };
  };
  const runOf = async (...given: Parameters<typeof start>): Promise<BaseEvent[]> => {
    const { events, over } = start(...given);
    await over;
    return events;
  };
  const say = (agent: AgentSessionAgent, content: string): void =>
    agent.addMessage({ id: `m-${content}`, role: 'user', content });
  const finishOf = (events: BaseEvent[]): Finish => events.at(-1) as unknown as Finish;
  const lastOf = ({ messages }: AgentSessionAgent): unknown => messages.at(-1)!.content;

  for (const [name, entry, expected] of [
    [
      'accepted',
      { status: 'resolved', payload: { action: 'accept', content: { branch: 'main' } } },
      { action: 'accept', content: { branch: 'main' } },
    ],
    ['declined', { status: 'resolved', payload: { action: 'decline' } }, { action: 'decline', content: null }],
    ['cancelled', { status: 'cancelled' }, { action: 'cancel', content: null }],
  ] as const) {
    it(`an agent of AG-UI whose turn waits or ends asks the question of a server as an interrupt, which is ${name}`, async () => {
      service.model.on(/Go/, steps([use('mcp__mail__ask')], 'Asked.'));
      const agent = agentOf(await session());
      say(agent, 'Go');
      const { outcome } = finishOf(await runOf(agent));
      expect(outcome.type).to.equal('interrupt');
      const { id, expiresAt, responseSchema, ...interrupt } = outcome.interrupts![0]!;
      expect(interrupt).to.deep.equal({ reason: 'elicitation', toolCallId: 'toolu_1', message: 'Which branch?' });
      expect(expiresAt).to.be.a('string');
      expect((responseSchema as { properties: { content: object } }).properties.content).to.deep.include(FORM);
      // Another tab sees it too.
      const other = agentOf(agent.threadId);
      await other.connectAgent();
      expect(other.pendingInterrupts.map((one) => one.id)).to.deep.equal([id]);
      await runOf(agent, { resume: [{ interruptId: id as string, ...entry }] });
      expect(lastOf(agent)).to.equal('Asked.');
      const answer = (await service.history(agent.threadId)).find(({ type }) => type === 'user.elicitation_result');
      expect(answer).to.deep.include(expected);
    });
  }

  it('an agent of AG-UI tells that a call needs an account, and goes on in the same run when the user has one', async () => {
    service.model.on(/Go/, steps([use('mcp__notes__send')], 'Sent.'));
    const agent = agentOf(await session());
    say(agent, 'Go');
    const { events, over } = start(agent);
    const custom = (): { name: string; value: object[] } | undefined =>
      events.find(({ type }) => type === EventType.CUSTOM) as never;
    await eventually('the page is told', () => custom() !== undefined);
    expect(custom()!.name).to.equal('required_actions');
    expect(custom()!.value[0]).to.include({ type: 'mcp_authorization', mcp_server_id: notes.id });
    const auth = { type: 'BEARER', token: 'own' };
    await service.api('POST', '/v1/credentials', { mcp_server_id: notes.id, user: 'ada', auth });
    await over;
    expect([finishOf(events).outcome, lastOf(agent)]).to.deep.equal([{ type: 'success' }, 'Sent.']);
    await service.api('DELETE', '/v1/credentials?user=ada');
  });

  it('an agent of AG-UI tells that the budget is used up, and goes on in the same run when it is raised', async () => {
    service.model.on(
      /Spend/,
      steps(message([toolUse('list_files')], tokens(300)), message([text('Done.')], tokens(2))),
    );
    const agent = agentOf(await session({ budget: budget('0.5', 'pause'), thinking_enabled: false }));
    say(agent, 'Spend');
    const { events, over } = start(agent);
    await eventually('the page is told', () => events.some(({ type }) => type === EventType.CUSTOM));
    await service.api('PATCH', `/v1/sessions/${agent.threadId}`, { budget: budget('2', 'pause') });
    await over;
    expect([finishOf(events).outcome, lastOf(agent)]).to.deep.equal([{ type: 'success' }, 'Done.']);
  });

  it('an agent of AG-UI whose turn waits or ends gives the value of a turn as the result of its run', async () => {
    service.model.reply([text('Found.'), toolUse('give_output', { late: [4711] })]);
    const id = await session();
    await service.send(id, 'Which are late?', { output_schema: { type: 'object' } });
    const agent = agentOf(id);
    const [{ id: eventId }] = await service.history(id);
    agent.addMessage({ id: eventId as string, role: 'user', content: 'Which are late?' });
    const finish = finishOf(await runOf(agent));
    expect([finish.outcome, finish.result]).to.deep.equal([{ type: 'success' }, { late: [4711] }]);
    expect(agent.messages.map(({ role }) => role)).to.deep.equal(['user', 'assistant']);
  });

  it('an agent of AG-UI whose turn waits or ends shows files that the agent delivers as activities', async () => {
    service.model.on(/Go/, steps([use('deliver_file', { filename: 'a.txt', content: 'hello' })], 'Delivered.'));
    const agent = agentOf(await session());
    say(agent, 'Go');
    const events = await runOf(agent);
    expect(events.find(({ type }) => type === EventType.ACTIVITY_SNAPSHOT)).to.include({ activityType: 'agent.file' });
    const shown = ({ messages }: AgentSessionAgent): object =>
      messages.find(({ role }) => role === 'activity') as unknown as object;
    expect((shown(agent) as { content: object }).content).to.include({ filename: 'a.txt', size_bytes: 5 });
    const other = agentOf(agent.threadId);
    await other.connectAgent();
    expect(shown(other)).to.deep.equal(shown(agent));
  });

  it('an agent of AG-UI whose turn waits or ends sends files of a message: content is uploaded, those of the service are attached', async () => {
    service.model.on(/Look/, 'Seen.');
    const agent = agentOf(await session());
    const data = { type: 'data' as const, value: btoa('a,b'), mimeType: 'text/csv' };
    agent.addMessage({
      id: 'm1',
      role: 'user',
      content: [
        { type: 'text', text: 'Look' },
        { type: 'document', source: data },
      ],
    });
    await runOf(agent);
    const messages = async () => (await service.history(agent.threadId)).filter(({ type }) => type === 'user.message');
    const [{ files }] = await messages();
    expect(files[0]).to.include({ filename: 'file-1.csv', size_bytes: 3 });
    const source = { type: 'file' as const, value: files[0].id as string, provider: 'agent-session' };
    agent.addMessage({
      id: 'm2',
      role: 'user',
      content: [
        { type: 'text', text: 'Look again' },
        { type: 'document', source },
      ],
    });
    await runOf(agent);
    expect((await messages())[1].files[0].id).to.equal(files[0].id);
  });

  it('an agent of AG-UI whose turn waits or ends ends as cancelled when somebody cancels the turn', async () => {
    const gate = service.model.gate();
    service.model.reply([text('Begun.'), wait(gate)]);
    const agent = agentOf(await session());
    say(agent, 'Go');
    const { events, over } = start(agent);
    await eventually('text shows', () => agent.messages.length === 2);
    await service.api('POST', `/v1/sessions/${agent.threadId}/cancel`);
    await over;
    expect(finishOf(events).outcome).to.deep.equal({ type: 'cancelled' });
    gate.open();
  });

  it('an agent of AG-UI ends with the error of the turn and its type', async () => {
    service.model.on(/Go/, failure('invalid_request_error'));
    const agent = agentOf(await session());
    say(agent, 'Go');
    const events = await runOf(agent);
    const { error } = await service.ended(agent.threadId);
    expect(events.at(-1)).to.include({ type: EventType.RUN_ERROR, code: error.type, message: error.message });
  });

  it('an agent of AG-UI ends with an error of the service and its type', async () => {
    const agent = agentOf('ses_none');
    say(agent, 'Go');
    expect((await runOf(agent)).at(-1)).to.include({ type: EventType.RUN_ERROR, code: 'session_not_found' });
  });
});

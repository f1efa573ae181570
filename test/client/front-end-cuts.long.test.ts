import { expect } from 'chai';
import { AgentSessionAgent } from '../../client/src/ag-ui/index.js';
import { AgentSessionClient } from '../../client/src/index.js';
import { openChat, textOf } from '../support/chat.js';
import { eventually } from '../support/eventually.js';
import { steps, text, toolUse, wait } from '../support/scripted-model.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { expectAcceptedRequests, use, useTurnService } from '../support/use.js';

/** Both front ends behind a connection that breaks (docs/decisions.md "Front ends"). */
describe('a page whose connection breaks', function () {
  this.timeout(30_000);
  const service = useTurnService();
  const proxy: TcpProxy = use(
    () => startTcpProxy({ host: '127.0.0.1', port: Number(new URL(service.url).port) }),
    (started) => started.close(),
  );
  expectAcceptedRequests(service);

  const ADDRESS = (): string => `http://127.0.0.1:${proxy.port}`;
  /** A turn that shows a text and a call, and then waits for the gate in the middle of another text. */
  const begin = async () => {
    const gate = service.model.gate();
    service.model.on(
      /Go/,
      steps(
        [text('First.'), toolUse('list_files', {}, { id: 'toolu_1' })],
        [text(['Then ', 'this.'], { before: { 1: wait(gate) } })],
      ),
    );
    return { id: await service.session(), gate };
  };
  const openPage = (id: string, isLoaded = false) => openChat(service, id, { baseUrl: ADDRESS(), isLoaded });
  const openAgent = (threadId: string): AgentSessionAgent =>
    new AgentSessionAgent({
      client: new AgentSessionClient({ baseUrl: ADDRESS(), apiKey: service.key }),
      threadId,
    });
  const saidBy = (agent: AgentSessionAgent): unknown[] =>
    agent.messages.flatMap(({ role, content }) => (role === 'assistant' && content !== undefined ? [content] : []));

  it('a page whose connection breaks goes on in the same message of the AI SDK, with nothing missing and nothing twice', async () => {
    const { id, gate } = await begin();
    const page = await openPage(id);
    const sent = page.chat.sendMessage({ text: 'Go' });
    await eventually('text shows', () => textOf(page.chat.messages.at(-1)) === 'First.|Then ');
    proxy.cut();
    gate.open();
    await sent;
    expect([page.errors, textOf(page.chat.messages.at(-1))]).to.deep.equal([[], 'First.|Then this.']);
    expect(page.chat.messages).to.have.length(2);
  });

  it('a page whose connection breaks goes on with a stream of the AI SDK that was resumed, however often it is cut', async () => {
    const { id, gate } = await begin();
    await service.send(id, 'Go');
    const page = await openPage(id, true);
    const resumed = page.chat.resumeStream();
    await eventually('text shows', () => textOf(page.chat.messages.at(-1)) === 'First.|Then ');
    proxy.cut();
    proxy.cut();
    gate.open();
    await service.ended(id);
    proxy.cut();
    await resumed;
    expect([page.errors, textOf(page.chat.messages.at(-1))]).to.deep.equal([[], 'First.|Then this.']);
    expect(page.chat.messages.at(-1)!.metadata).to.include({ stopReason: 'end_turn' });
  });

  it('a page whose connection breaks resumes a turn of the AI SDK while every request is cut once', async () => {
    const { id, gate } = await begin();
    await service.send(id, 'Go');
    const page = await openPage(id, true);
    const resumed = page.chat.resumeStream();
    proxy.cut();
    await eventually('text shows', () => textOf(page.chat.messages.at(-1)) === 'First.|Then ');
    gate.open();
    await resumed;
    expect([page.errors, textOf(page.chat.messages.at(-1))]).to.deep.equal([[], 'First.|Then this.']);
  });

  it('a page whose connection breaks shows a turn of the AI SDK whole, also when the next one has begun before the page is connected again', async () => {
    const { id, gate } = await begin();
    const page = await openPage(id);
    const sent = page.chat.sendMessage({ text: 'Go' });
    await eventually('text shows', () => textOf(page.chat.messages.at(-1)) === 'First.|Then ');
    service.model.on(/Next/, 'Another answer.');
    await service.send(id, 'Next', { when_running: 'queue' });
    proxy.cut();
    gate.open();
    await eventually('the next turn has ended', async () =>
      (await service.history(id)).some(({ content }) => content === 'Another answer.'),
    );
    await sent;
    expect([page.errors, textOf(page.chat.messages.at(-1))]).to.deep.equal([[], 'First.|Then this.']);
  });

  it('a page whose connection breaks goes on in the same run of AG-UI, and in one that has connected', async () => {
    const { id, gate } = await begin();
    const agent = openAgent(id);
    agent.addMessage({ id: 'm1', role: 'user', content: 'Go' });
    const run = agent.runAgent();
    await eventually('text shows', () => saidBy(agent).at(-1) === 'Then ');
    const other = openAgent(id);
    const connected = other.connectAgent();
    await eventually('text shows', () => saidBy(other).at(-1) === 'Then ');
    proxy.cut();
    gate.open();
    await Promise.all([run, connected]);
    for (const one of [agent, other]) expect(saidBy(one)).to.deep.equal(['First.', 'Then this.']);
  });
});

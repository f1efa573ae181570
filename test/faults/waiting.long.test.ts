import { expect } from 'chai';
import type { Turn } from '../support/fault-system.js';
import { message, steps, toolUse } from '../support/scripted-model.js';
import { askingTools, confirmation, customResult, requiredActions } from '../support/waiting-turns.js';
import { useFaultSystem } from '../support/use.js';

/** A turn waits; everything dies meanwhile (decisions.md "Person in the loop": an answer that was accepted is never lost). */
describe('a turn that waits for answers', function () {
  this.timeout(180_000);
  let serverId: string;
  const system = useFaultSystem({ ownPostgres: true, ownTemporal: { persistent: true } });
  before(async () => {
    system.mcp.options.tools = [{ name: 'send' }, { name: 'search' }];
    serverId = await system.registerMcp('mail');
  });
  afterEach(() => {
    system.model.reset();
    system.mcp.calls.length = 0;
  });

  const waitingTurn = async (): Promise<Turn> => {
    const names = ['mcp__mail__search', 'mcp__mail__send', 'get_weather'];
    const uses = names.map((name, index) => toolUse(name, {}, { id: `toolu_${index + 1}` }));
    system.model.on(/Go/, steps(message(uses), 'Done.'));
    const turn = await system.begin('Go', { mcp_servers: [serverId], tools: askingTools(serverId) });
    await openCalls(turn, 2);
    return turn;
  };
  const openCalls = ({ sessionId }: Turn, count: number) => requiredActions({ api: system.insist }, sessionId, count);
  const answer = async ({ sessionId }: Turn, ...events: object[]): Promise<void> => {
    const { status, body } = await system.insist('POST', `/v1/sessions/${sessionId}/events`, { events });
    expect(status, JSON.stringify(body)).to.equal(201);
  };
  const callsMade = (): string[] => system.mcp.calls.map(({ name }) => name).sort();

  it('a turn that waits for answers survives kill -9 of every process, and runs each call once', async () => {
    const turn = await waitingTurn();
    await system.killEverything();
    await openCalls(turn, 2);
    await answer(turn, confirmation('toolu_2', 'allow'), customResult('toolu_3', 'Sun.'));
    await system.verify();
    expect(callsMade()).to.deep.equal(['search', 'send']);
    const events = await system.history(turn.sessionId);
    expect(events.filter(({ type }) => type === 'agent.requires_action')).to.have.length(1);
    expect(events.at(-1)).to.include({ type: 'turn.completed' });
  });

  it('a turn that waits for answers takes an answer that was stored while no worker was alive, and whose signal was lost', async () => {
    const turn = await waitingTurn();
    await system.workers[0]!.kill();
    await system.temporal!.kill();
    await answer(turn, confirmation('toolu_2', 'allow'), customResult('toolu_3', 'Sun.'));
    await system.apis[0]!.kill();
    await system.temporal!.restart();
    await Promise.all([system.apis[0]!.start(), system.workers[0]!.start()]);
    await system.verify();
    expect(callsMade()).to.deep.equal(['search', 'send']);
    expect((await system.history(turn.sessionId)).at(-1)).to.include({ type: 'turn.completed' });
  });

  it('a turn that waits for answers ends when its workflow is terminated', async () => {
    const turn = await waitingTurn();
    await system.client.workflow.getHandle(turn.turnId).terminate('test');
    const [end] = (await system.verify()).slice(-1);
    expect([end.type, end.error?.type]).to.deep.equal(['turn.failed', 'terminated']);
  });
});

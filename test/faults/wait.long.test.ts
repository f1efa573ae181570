import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { confirmation } from '../support/waiting-turns.js';
import { useFaultSystem } from '../support/use.js';

/** The processes die while an agent waits (decisions.md "An agent that waits"). */
describe('an agent that waits until a time', function () {
  this.timeout(180_000);
  const system = useFaultSystem({ ownPostgres: true, ownTemporal: { persistent: true } });
  afterEach(() => system.model.reset());

  const waiting = async (seconds: number) => {
    system.model.on(/Go/, steps(toolUse('wait', { seconds }, { id: 'toolu_1' }), 'Done.'));
    const turn = await system.begin('Go', { tools: [{ type: 'wait' }] });
    const typesOf = async () => (await system.history(turn.sessionId)).map(({ type }) => type as string);
    await eventually('the agent waits', async () => (await typesOf()).includes('agent.wait'));
    return turn;
  };
  const endOf = async (sessionId: string) => {
    await system.verify();
    const events = await system.history(sessionId);
    expect(events.map(({ type }) => type as string).filter((type) => type === 'agent.wait')).to.have.length(1);
    expect(events.at(-1)).to.include({ type: 'turn.completed' });
    const [result] = events.filter(({ type }) => type === 'agent.tool_result');
    const { until } = events.find(({ type }) => type === 'agent.wait')!;
    return { result: result!, until: until as string };
  };

  it('an agent that waits until a time goes on then, although no worker lived when it came', async () => {
    const { sessionId } = await waiting(5);
    await system.workers[0]!.kill();
    const [{ until }] = (await system.history(sessionId)).filter(({ type }) => type === 'agent.wait');
    await eventually('the time has come', () => Date.now() > Date.parse(until as string));
    expect((await system.history(sessionId)).at(-1)).to.include({ type: 'agent.wait' });
    await system.workers[0]!.start();
    const { result } = await endOf(sessionId);
    expect(result.content).to.match(/^Waited 5 s\. It is now/);
  });

  it('an agent that waits until a time survives kill -9 of every process, and still goes on early', async () => {
    const { sessionId } = await waiting(86_400);
    await system.killEverything();
    const answer = { events: [confirmation('toolu_1', 'deny', 'No need.')] };
    const sent = await system.insist('POST', `/v1/sessions/${sessionId}/events`, answer);
    expect(sent.status).to.equal(201);
    const { result } = await endOf(sessionId);
    expect(result).to.include({ is_error: false });
    expect(result.content).to.include('The person wrote: No need.');
  });
});

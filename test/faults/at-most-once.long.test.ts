import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import type { FaultSystem, Turn } from '../support/fault-system.js';
import type { TestTool } from '../support/mcp-server.js';
import { steps, text, toolUse, wait } from '../support/scripted-model.js';
import type { SseFrame } from '../support/sse-reader.js';
import type { StoredEvent } from '../support/turn-checker.js';
import { resetToStart } from '../support/workflow-history.js';
import { useFaultSystem } from '../support/use.js';

/** Workers and API processes die at the worst moments: the turn ends once, and no tool runs twice. */
describe('a process dies in the middle', () => {
  let serverId: string;
  const system = useFaultSystem();
  before(async () => {
    system.mcp.options.tools = [{ name: 'buy' }, { name: 'reserve', annotations: { idempotentHint: true } }];
    serverId = await system.registerMcp('shop');
  });
  afterEach(() => system.model.reset());

  describe('the worker', () => {
    let streaming: Turn;
    let seen: SseFrame[];
    const buying = new Map<string, Turn>();

    before(async () => {
      const { mcp, model } = system;
      mcp.calls.length = 0;
      const under: Promise<void>[] = [];
      const neverBack = (tool: TestTool): TestTool => {
        const { name } = tool;
        let arrive!: () => void;
        under.push(new Promise((resolve) => (arrive = resolve)));
        return {
          ...tool,
          run: () => {
            arrive();
            return callsOf(name) > 1 ? 'bought' : new Promise(() => undefined);
          },
        };
      };
      mcp.options.tools = mcp.options.tools!.map(neverBack);
      for (const name of ['buy', 'reserve']) {
        model.on(new RegExp(name), steps(toolUse(`mcp__shop__${name}`), 'Looked after.'));
        buying.set(name, await system.begin(name, { mcp_servers: [serverId] }));
      }
      const cut = text('one two three', { every: 0, before: { 2: wait(model.gate()) } });
      model.on(/stream/, cut, text('one two three four'));
      streaming = await system.begin('stream');
      const stream = await system.stream(streaming);
      await Promise.all([stream.until(({ event }) => event === 'agent.message.delta'), ...under]);
      await system.workers[0]!.kill();
      await system.workers[0]!.start();
      await system.verify();
      await stream.ended;
      seen = stream.frames;
    });

    const callsOf = (name: string): number => system.mcp.calls.filter((call) => call.name === name).length;
    const resultOf = async (name: string): Promise<StoredEvent> =>
      (await system.history(buying.get(name)!.sessionId)).find((event) => event.type === 'agent.tool_result');

    it('the worker dies while the model streams: one full message, the cut one under an id of its own', async () => {
      const messages = (await system.history(streaming.sessionId)).filter((event) => event.type === 'agent.message');
      expect(messages.map((event) => event.content as string)).to.deep.equal(['one two three four']);
      const deltas = seen.filter(({ event }) => event === 'agent.message.delta');
      expect(new Set(deltas.map(({ data }) => data.message_id as string)).size).to.equal(2);
    });

    it('the worker dies while a tool runs: it is not called again, and its outcome is unknown', async () => {
      expect(callsOf('buy')).to.equal(1);
      const result = await resultOf('buy');
      expect(result.is_error).to.equal(true);
      expect(result.content).to.match(/outcome .* is unknown/);
    });

    it('the worker dies while a tool runs that may be repeated: it is called again', async () => {
      expect(await resultOf('reserve')).to.include({ is_error: false, content: 'bought' });
      expect(callsOf('reserve')).to.equal(2);
    });
  });

  it('the API, right after it accepted', async () => {
    const turn = await system.send(await system.session(), 'Hello');
    await system.apis[0]!.kill();
    await system.apis[0]!.start();
    void system.watch(turn);
    const ends = await system.verify();
    expect(ends.find((end) => end.turn_id === turn.turnId)).to.include({ type: 'turn.completed' });
  });

  it('the worker, between the commit of the claim and its record', async () => {
    // What this worker reports to Temporal can be held back, so that the claim is committed and not recorded.
    await system.workers.pop()!.kill();
    const { worker: held, proxy } = await system.addProxiedWorker();
    await untilPolled(system);
    const gate = system.model.gate();
    system.model.on(/claimed/, text('never told', { before: { 0: wait(gate) } }), 'Told once.');
    const turn = await system.begin('claimed');
    await stateBecomes(system, turn.turnId, 'running');
    proxy.hold();
    await gate.reached;
    await held.kill();
    await proxy.close();
    system.workers.splice(system.workers.indexOf(held), 1);
    await system.addRole('worker');
    const ends = await system.verify();
    expect(ends.find((end) => end.turn_id === turn.turnId)).to.include({ type: 'turn.completed' });
  });

  it('a running turn is reset: nothing that was stored is repeated', async () => {
    const { mcp, model, client } = system;
    mcp.calls.length = 0;
    const gate = model.gate();
    model.on(/reset/, ({ step }, index) => {
      if (step === 0) return toolUse('mcp__shop__buy');
      return index === 1 ? text('never told', { before: { 0: wait(gate) } }) : 'Told once.';
    });
    const turn = await system.begin('reset', { mcp_servers: [serverId] });
    await gate.reached;
    await resetToStart(client, turn.turnId);
    await system.verify();
    expect(mcp.calls.length).to.equal(1);
    expect((await system.history(turn.sessionId)).map((event) => event.type as string)).to.deep.equal([
      'user.message',
      'agent.tool_use',
      'agent.tool_result',
      'agent.message',
      'turn.completed',
    ]);
  });
});

/** Waits for a worker's poll: it is then under way, and an answer to it needs no word from the worker. */
function untilPolled({ client, workers }: FaultSystem): Promise<void> {
  const worker = workers.at(-1)!;
  return eventually('the worker polls', async () => {
    const { pollers } = await client.workflowService.describeTaskQueue({
      namespace: 'default',
      taskQueue: { name: worker.env.TASK_QUEUE },
      taskQueueType: 1,
    });
    return pollers.some(({ identity }) => identity?.startsWith(`${worker.pid}@`));
  });
}

function stateBecomes({ db }: FaultSystem, turnId: string, state: string): Promise<void> {
  return eventually(`${turnId} is ${state}`, async () => {
    const [row] = await db.query<{ state: string }[]>('SELECT state FROM turns WHERE id = $1', [turnId]);
    return row?.state === state;
  });
}

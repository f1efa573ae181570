import { expect } from 'chai';
import { storedDeltas } from '../support/deltas.js';
import { eventually } from '../support/eventually.js';
import type { Turn } from '../support/fault-system.js';
import { steps, text, toolUse, wait } from '../support/scripted-model.js';
import type { StoredEvent } from '../support/turn-checker.js';
import { useFaultSystem } from '../support/use.js';

/**
 * A worker freezes for longer than its lease, another one takes its work over, and then it goes on, with the rest of the
 * model's answer and the result of its tool call before it, until it notices that it has lost its lease and exits.
 */
describe('a worker that comes back after it was overtaken', () => {
  let ended: Turn;
  let goingOn: Turn;
  let buying: Turn;
  const system = useFaultSystem({ workers: 0 });
  before(async () => {
    const { worker: frozen, proxy } = await system.addProxiedWorker();
    const { mcp, model } = system;
    const [late, other] = [model.gate(), model.gate()];
    let boughtOnce!: () => void;
    const called = new Promise<void>((resolve) => (boughtOnce = resolve));
    mcp.options.tools = [{ name: 'buy', run: () => (boughtOnce(), late.opened.then(() => 'bought')) }];
    const cut = () => text('one two late', { every: 0, before: { 2: wait(late) } });
    model.on(/^ended/, cut(), text('one two three'));
    model.on(/^going on/, cut(), text('one two three', { every: 0, before: { 1: wait(other) } }));
    model.on(/^buying/, steps(toolUse('mcp__shop__buy'), 'Looked after.'));
    ended = await system.begin('ended');
    goingOn = await system.begin('going on');
    buying = await system.begin('buying', { mcp_servers: [await system.registerMcp('shop')] });
    await Promise.all([ended, goingOn].map(streamsTwo));
    await called;

    frozen.freeze();
    await proxy.close();
    await system.addRole('worker');
    await Promise.all([system.ended(ended), system.ended(buying), other.reached]);
    late.open();
    frozen.thaw();
    // It has lost its lease. Until it notices that, it may go on.
    expect(await frozen.exited()).to.equal(1);
    other.open();
    await system.verify();
  });

  /** Until the worker has stored what the turn's model has streamed so far. */
  const streamsTwo = async ({ turnId }: Turn): Promise<void> => {
    const kept = (): Promise<unknown[]> =>
      system.db.query(`SELECT FROM deltas WHERE turn_id = $1 AND runs LIKE '%two%'`, [turnId]);
    await eventually('deltas are kept', async () => (await kept()).length > 0);
  };
  const messagesOf = async ({ sessionId }: Turn): Promise<StoredEvent[]> =>
    (await system.history(sessionId)).filter((event) => event.type !== 'user.message');

  for (const [what, turn] of [
    ['has ended', () => ended],
    ['continues on another worker', () => goingOn],
  ] as const) {
    it(`a worker that comes back after it was overtaken adds nothing to a turn that ${what}`, async () => {
      const [stored, ...rest] = await messagesOf(turn());
      expect(stored).to.include({ type: 'agent.message', content: 'one two three' });
      expect(rest.map((event) => event.type as string)).to.deep.equal(['turn.completed']);
      const deltas = await storedDeltas(system.db, turn().turnId);
      expect(deltas.map(({ content }) => content).join('')).not.to.include('late');
    });
  }

  it('a worker that comes back after it was overtaken has called its tool once, and its late result is rejected', async () => {
    expect(system.mcp.calls.length).to.equal(1);
    const results = (await messagesOf(buying)).filter((event) => event.type === 'agent.tool_result');
    expect(results).to.have.length(1);
    expect(results[0].content).to.match(/outcome .* is unknown/);
  });
});

import { expect } from 'chai';
import { storedDeltas } from '../support/deltas.js';
import { eventually } from '../support/eventually.js';
import type { Turn } from '../support/fault-system.js';
import { steps, text, toolUse, wait } from '../support/scripted-model.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
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
    // Frozen with its connections alive, it would still be given tasks, for as long as its polls last (a minute).
    const [host, port] = process.env.TEST_TEMPORAL_ADDRESS!.split(':') as [string, string];
    const proxy = await startTcpProxy({ host, port: Number(port) });
    const frozen = await system.addRole('worker', { TEMPORAL_ADDRESS: `127.0.0.1:${proxy.port}` });
    const { mcp, model } = system;
    const [late, other] = [model.gate(), model.gate()];
    let boughtOnce!: () => void;
    const called = new Promise<void>((resolve) => (boughtOnce = resolve));
    mcp.options.tools = [{ name: 'buy', run: () => (boughtOnce(), late.opened.then(() => 'bought')) }];
    const { body } = await system.insist('POST', '/v1/mcp-servers', { name: 'shop', url: mcp.url });
    const cut = () => text('one two late', { every: 0, before: { 2: wait(late) } });
    model.on(/^ended/, cut(), text('one two three'));
    model.on(/^going on/, cut(), text('one two three', { every: 0, before: { 1: wait(other) } }));
    model.on(/^buying/, steps(toolUse('mcp__shop__buy'), 'Looked after.'));
    const begin = async (content: string, session = {}): Promise<Turn> => {
      const turn = await system.send(await system.session(session), content);
      void system.watch(turn);
      return turn;
    };
    ended = await begin('ended');
    goingOn = await begin('going on');
    buying = await begin('buying', { mcp_servers: [body.id] });
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

  it('a worker that comes back after it was overtaken adds nothing to a turn that has ended', async () => {
    const [stored, ...rest] = await messagesOf(ended);
    expect(stored).to.include({ type: 'agent.message', content: 'one two three' });
    expect(rest.map((event) => event.type as string)).to.deep.equal(['turn.completed']);
  });

  it('a worker that comes back after it was overtaken adds nothing to a turn that continues on another worker', async () => {
    const [stored, ...rest] = await messagesOf(goingOn);
    expect(stored).to.include({ type: 'agent.message', content: 'one two three' });
    expect(rest.map((event) => event.type as string)).to.deep.equal(['turn.completed']);
    const deltas = await storedDeltas(system.db, goingOn.turnId);
    expect(deltas.map(({ content }) => content).join('')).not.to.include('late');
  });

  it('a worker that comes back after it was overtaken has called its tool once, and its late result is rejected', async () => {
    expect(system.mcp.calls.length).to.equal(1);
    const results = (await messagesOf(buying)).filter((event) => event.type === 'agent.tool_result');
    expect(results).to.have.length(1);
    expect(results[0].content).to.match(/outcome .* is unknown/);
  });
});

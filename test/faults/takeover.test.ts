import { expect } from 'chai';
import { startFaultSystem, type FaultSystem } from '../support/fault-system.js';
import { eventually } from '../support/eventually.js';
import { steps, text, toolUse, wait } from '../support/scripted-model.js';

/** Far below the heartbeat timeout of 90 s, which would bring it about too. */
const MAX_TAKEOVER_MS = 45_000;
/** Below the heartbeat timeout: the takeover is the lease's work. */
const AWAY_MS = process.env.FAULTS === 'long' ? 30_000 : 12_000;

describe('workers and their leases', function () {
  this.timeout(120_000);
  let system: FaultSystem;
  before(async () => {
    system = await startFaultSystem({ workers: 1, ownTemporal: { persistent: true }, proxies: true });
  });
  after(() => system.close());

  it('gives the activities of a killed worker to another one within seconds', async () => {
    const { model } = system;
    const gate = model.gate();
    model.on(/^taken over/, text('lost', { before: { 0: wait(gate) } }), text('Taken over.'));
    const turn = await system.send(await system.session(), 'taken over');
    void system.watch(turn);
    await gate.reached;
    await system.addRole('worker');
    await system.workers[0]!.kill();
    const killed = performance.now();
    const end = await system.ended(turn);
    const took = performance.now() - killed;
    console.log(`      taken over and ended after ${(took / 1000).toFixed(1)} s`);
    expect(end.type).to.equal('turn.completed');
    expect(took).to.be.below(MAX_TAKEOVER_MS);
    gate.open();
    await system.verify();
  });

  it('repeats no model call and no tool while Temporal is unreachable', async () => {
    const { mcp, model } = system;
    const gate = model.gate();
    let back = (): void => undefined;
    const isBack = new Promise<void>((resolve) => (back = resolve));
    mcp.options.tools = [{ name: 'slow', run: () => isBack.then(() => 'done') }];
    const { body } = await system.insist('POST', '/v1/mcp-servers', { name: 'tools', url: mcp.url });
    model.on(/^patient/, text('once', { before: { 0: wait(gate) } }));
    model.on(/^busy/, steps(toolUse('mcp__tools__slow'), 'Done.'));
    const patient = await system.send(await system.session(), 'patient');
    const busy = await system.send(await system.session({ mcp_servers: [body.id] }), 'busy');
    await Promise.all([gate.reached, eventually('the call', () => mcp.calls.length === 1)]);
    const calls = model.requests.length;
    await system.temporal!.kill();
    await new Promise((resolve) => setTimeout(resolve, AWAY_MS));
    await system.temporal!.restart();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    gate.open();
    back();
    for (const turn of [patient, busy]) expect((await system.ended(turn)).type).to.equal('turn.completed');
    // The answer to the tool's result is the only further call.
    expect(model.requests.length).to.equal(calls + 1);
    expect(mcp.calls).to.have.length(1);
  });

  it('ends a cancelled turn at once while Temporal is unreachable', async () => {
    const { model } = system;
    const gate = model.gate();
    model.on(/^stop/, text('never sent', { before: { 0: wait(gate) } }));
    const turn = await system.send(await system.session(), 'stop');
    await gate.reached;
    await system.temporal!.kill();
    const asked = performance.now();
    expect((await system.insist('POST', `/v1/sessions/${turn.sessionId}/cancel`)).status).to.equal(200);
    const end = await system.ended(turn);
    console.log(`      cancelled after ${Math.round(performance.now() - asked)} ms`);
    expect(end.type).to.equal('turn.cancelled');
    await system.temporal!.restart();
    gate.open();
  });
});

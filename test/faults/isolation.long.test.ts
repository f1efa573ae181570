import { expect } from 'chai';
import { TURN_WORKFLOW } from '../../workflows/contract.js';
import { steps, text, toolUse, wait } from '../support/scripted-model.js';
import { eventually } from '../support/eventually.js';
import { pendingActivities } from '../support/turn-workflow.js';
import { useMcpServer, useTemporalClient, useTurnService } from '../support/use.js';

const SLOTS = 4;
const TOOLS = 6;
const TURNS = 24;
/** `PENDING_ACTIVITY_STATE_STARTED` */
const STARTED: number = 2;

/** One project's flood, and one bad turn, leave the others alone. Each test ends the turns that it starts, and so leaves all slots free. */
describe('isolation', () => {
  const temporal = useTemporalClient();
  const mcp = useMcpServer();
  const service = useTurnService(() => ({
    config: { workerMaxActivities: SLOTS, mcpAllowedHosts: [mcp.host], maxSteps: 5 },
  }));
  afterEach(() => {
    service.model.reset();
    mcp.calls.length = 0;
  });

  /** Has another project send a message; returns its turn and a promise for the turn's end. */
  const sendFromOther = async (): Promise<{ turnId: string; ended: Promise<void> }> => {
    const other = service.as(await service.newKey({ project: 'other' }));
    const session = await other('POST', '/v1/sessions', { model_id: 'scripted' });
    const path = `/v1/sessions/${session.body.id as string}`;
    const sent = await other('POST', `${path}/messages`, { content: 'Hello' });
    const isOver = async () => (await other('GET', path)).body.status !== 'RUNNING';
    return { turnId: sent.body.turn_id as string, ended: eventually('the turn of the other project ends', isOver) };
  };

  it('a project whose tools hang does not keep another one waiting', async () => {
    const gate = service.model.gate();
    mcp.options.tools = [{ name: 'wait', run: () => gate.opened.then(() => 'ok') }];
    const { body } = await service.api('POST', '/v1/mcp-servers', { name: 'slow', url: mcp.url });
    const uses = Array.from({ length: TOOLS }, () => toolUse('mcp__slow__wait'));
    service.model.on(/flood/, steps(uses, 'Done.'));
    const flood = await service.session({ mcp_servers: [body.id], thinking_enabled: false });
    const turnId = await service.send(flood, 'flood');
    await eventually('the calls beyond the share wait for another try', async () => {
      const pending = await pendingActivities(temporal, turnId);
      return pending.filter(({ lastFailure }) => lastFailure).length >= TOOLS - SLOTS / 2;
    });
    await eventually('the calls within the share reach the server', () => mcp.calls.length === SLOTS / 2);

    await (
      await sendFromOther()
    ).ended;
    expect(mcp.calls.length).to.equal(SLOTS / 2);
    gate.open();
    expect(await service.ended(flood)).to.include({ type: 'turn.completed' });
    expect(mcp.calls.length).to.equal(TOOLS);
  });

  it('projects whose tools hang leave slots to model calls, however many they are', async () => {
    const gate = service.model.gate();
    mcp.options.tools = [{ name: 'wait', run: () => gate.opened.then(() => 'ok') }];
    service.model.on(/flood/, steps([toolUse('mcp__slow__wait'), toolUse('mcp__slow__wait')], 'Done.'));
    const floods: (() => Promise<boolean>)[] = [];
    for (const project of ['fourth', 'fifth']) {
      const api = service.as(await service.newKey({ project }));
      const server = await api('POST', '/v1/mcp-servers', { name: 'slow', url: mcp.url });
      const body = { model_id: 'scripted', mcp_servers: [server.body.id], thinking_enabled: false };
      const path = `/v1/sessions/${(await api('POST', '/v1/sessions', body)).body.id}`;
      const sent = await api('POST', `${path}/messages`, { content: 'flood' });
      floods.push(async () => (await api('GET', path)).body.status !== 'RUNNING');
      await eventually('both calls hang or wait for another try', async () => {
        const pending = await pendingActivities(temporal, sent.body.turn_id as string);
        const isHeld = ({ state, lastFailure }: (typeof pending)[number]) => Number(state) === STARTED || lastFailure;
        return pending.length === 2 && pending.every(isHeld);
      });
    }
    await (
      await sendFromOther()
    ).ended;
    expect(mcp.calls.length).to.be.at.most(Math.floor(SLOTS * 0.7));
    gate.open();
    for (const isOver of floods) await eventually('the turn with the hanging tools ends', isOver);
    expect(mcp.calls.length).to.equal(4);
  });

  it('a project whose model calls use every slot does not delay others', async () => {
    const gate = service.model.gate();
    let begun = 0;
    service.model.on(/flood/, () => {
      begun += 1;
      return text('one two', { every: 0, before: { 1: wait(gate) } });
    });
    const floods = await Promise.all(Array.from({ length: TURNS }, () => service.session()));
    const turnIds = await Promise.all(floods.map((session) => service.send(session, 'flood')));
    const waits = (turnId: string): Promise<void> =>
      eventually(`${turnId} waits for a slot`, async () => (await pendingActivities(temporal, turnId)).length > 0);
    for (const turnId of turnIds) await waits(turnId);

    const other = await sendFromOther();
    await waits(other.turnId);
    expect(begun).to.equal(SLOTS);
    gate.open();
    await other.ended;
    const before = begun;
    for (const flood of floods) expect(await service.ended(flood)).to.include({ type: 'turn.completed' });
    console.log(`      ${TURNS} turns on ${SLOTS} slots; the other project’s turn ended when ${before} had begun`);
    expect(before).to.be.at.most((TURNS * 3) / 4);
  });

  it('an endless tool loop ends at the step limit, and a workflow that cannot start does not affect other turns', async () => {
    const blocked = await temporal.workflow.start(TURN_WORKFLOW, {
      workflowId: `blocked-${service.config.taskQueue}`,
      taskQueue: service.config.taskQueue,
      args: [null],
    });
    service.model.on(/loop/, () => toolUse('list_files'));
    const looping = await service.session({ thinking_enabled: false });
    await service.send(looping, 'loop');
    expect(await service.ended(looping)).to.include({ type: 'turn.completed', stop_reason: 'max_steps' });
    const healthy = await service.session();
    await service.send(healthy, 'Hello');
    expect(await service.ended(healthy)).to.include({ type: 'turn.completed', stop_reason: 'end_turn' });
    await blocked.terminate();
  });
});

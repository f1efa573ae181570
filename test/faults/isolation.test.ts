import { expect } from 'chai';
import { TURN_WORKFLOW } from '../../workflows/contract.js';
import { startMcpServer, type TestMcpServer } from '../support/mcp-server.js';
import { steps, text, toolUse, wait } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { connectClient } from '../support/workflow-history.js';

const SLOTS = 4;
const TOOLS = 6;
const TURNS = 24;

/** One project's flood, and one bad turn, leave the others alone. */
describe('isolation', function () {
  this.timeout(90_000);
  let service: TurnService;
  let mcp: TestMcpServer;
  before(async () => {
    mcp = await startMcpServer();
    service = await startTurnService({
      config: { workerMaxActivities: SLOTS, mcpAllowedHosts: [mcp.host], maxSteps: 5 },
    });
  });
  after(async () => {
    await service.close();
    await mcp.close();
  });
  afterEach(() => service.model.reset());

  it('a project whose tools hang does not keep another one waiting', async () => {
    const gate = service.model.gate();
    mcp.options.tools = [{ name: 'wait', run: () => gate.opened.then(() => 'ok') }];
    const { body } = await service.api('POST', '/v1/mcp-servers', { name: 'slow', url: mcp.url });
    const uses = Array.from({ length: TOOLS }, () => toolUse('mcp__slow__wait'));
    service.model.on(/flood/, steps(uses, 'Done.'));
    const flood = await service.session({ mcp_servers: [body.id], thinking_enabled: false });
    const turnId = await service.send(flood, 'flood');
    const temporal = await connectClient(process.env.TEST_TEMPORAL_ADDRESS!);
    const triedAgain = async (): Promise<number> => {
      const { raw } = await temporal.client.workflow.getHandle(turnId).describe();
      return (raw.pendingActivities ?? []).filter(({ lastFailure }) => lastFailure).length;
    };
    while ((await triedAgain()) < TOOLS - SLOTS / 2) await pause();
    expect(mcp.calls.length).to.equal(SLOTS / 2);

    const other = service.as(await service.newKey({ project: 'other' }));
    const session = await other('POST', '/v1/sessions', { model_id: 'scripted' });
    await other('POST', `/v1/sessions/${session.body.id}/messages`, { content: 'Hello' });
    while ((await other('GET', `/v1/sessions/${session.body.id}`)).body.status === 'RUNNING') await pause();
    expect(mcp.calls.length).to.equal(SLOTS / 2);
    gate.open();
    expect(await service.ended(flood)).to.include({ type: 'turn.completed' });
    await temporal.close();
    expect(mcp.calls.length).to.equal(TOOLS);
  });

  it('a project whose model calls take every slot is not first in line for the next one', async () => {
    const gate = service.model.gate();
    let begun = 0;
    service.model.on(/flood/, () => {
      begun += 1;
      return text('one two', { every: 0, before: { 1: wait(gate) } });
    });
    const floods = await Promise.all(Array.from({ length: TURNS }, () => service.session()));
    const turnIds = await Promise.all(floods.map((session) => service.send(session, 'flood')));
    const temporal = await connectClient(process.env.TEST_TEMPORAL_ADDRESS!);
    const waits = async (turnId: string): Promise<boolean> => {
      const { raw } = await temporal.client.workflow.getHandle(turnId).describe();
      return (raw.pendingActivities ?? []).length > 0;
    };
    for (const turnId of turnIds) while (!(await waits(turnId))) await pause();

    const other = service.as(await service.newKey({ project: 'third' }));
    const session = await other('POST', '/v1/sessions', { model_id: 'scripted' });
    const sent = await other('POST', `/v1/sessions/${session.body.id}/messages`, { content: 'Hello' });
    while (!(await waits(sent.body.turn_id as string))) await pause();
    expect(begun).to.equal(SLOTS);
    gate.open();
    while ((await other('GET', `/v1/sessions/${session.body.id}`)).body.status === 'RUNNING') await pause();
    const before = begun;
    for (const flood of floods) expect(await service.ended(flood)).to.include({ type: 'turn.completed' });
    await temporal.close();
    console.log(`      ${TURNS} turns on ${SLOTS} slots; the other project’s turn ended when ${before} had begun`);
    expect(before).to.be.at.most((TURNS * 3) / 4);
  });

  it('an endless tool loop ends at the step limit, and a poisoned workflow is nobody’s business', async () => {
    const temporal = await connectClient(process.env.TEST_TEMPORAL_ADDRESS!);
    const poisoned = await temporal.client.workflow.start(TURN_WORKFLOW, {
      workflowId: `poisoned-${service.config.taskQueue}`,
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
    await poisoned.terminate();
    await temporal.close();
  });
});

const pause = () => new Promise((resolve) => setTimeout(resolve, 10));

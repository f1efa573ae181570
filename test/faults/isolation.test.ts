import { expect } from 'chai';
import { TURN_WORKFLOW } from '../../workflows/contract.js';
import { startMcpServer, type TestMcpServer } from '../support/mcp-server.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { connectClient } from '../support/workflow-history.js';

const SLOTS = 2;
const TOOLS = 16;

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

  it('a project whose tasks wait for every slot does not keep another one waiting', async () => {
    const gate = service.model.gate();
    mcp.options.tools = [{ name: 'wait', run: () => gate.opened.then(() => 'ok') }];
    const { body } = await service.api('POST', '/v1/mcp-servers', { name: 'slow', url: mcp.url });
    const uses = Array.from({ length: TOOLS }, () => toolUse('mcp__slow__wait'));
    service.model.on(/flood/, steps(uses, 'Done.'));
    const flood = await service.session({ mcp_servers: [body.id], thinking_enabled: false });
    await service.send(flood, 'flood');
    while (mcp.calls.length < SLOTS) await pause();

    const other = service.as(await service.newKey({ project: 'other' }));
    const session = await other('POST', '/v1/sessions', { model_id: 'scripted' });
    const sent = await other('POST', `/v1/sessions/${session.body.id}/messages`, { content: 'Hello' });
    const temporal = await connectClient(process.env.TEST_TEMPORAL_ADDRESS!);
    const waiting = async (): Promise<boolean> => {
      const { raw } = await temporal.client.workflow.getHandle(sent.body.turn_id as string).describe();
      return (raw.pendingActivities ?? []).length > 0;
    };
    while (!(await waiting())) await pause();
    gate.open();
    while ((await other('GET', `/v1/sessions/${session.body.id}`)).body.status === 'RUNNING') await pause();
    const before = mcp.calls.length;
    expect(await service.ended(flood)).to.include({ type: 'turn.completed' });
    await temporal.close();
    console.log(`      ${TOOLS} tools on ${SLOTS} slots; the other project’s turn ended when ${before} had begun`);
    expect(mcp.calls.length).to.equal(TOOLS);
    expect(before).to.be.at.most(TOOLS / 2);
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

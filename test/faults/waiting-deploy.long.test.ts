import { expect } from 'chai';
import { startCurrentBuild } from '../support/build-version.js';
import type { Turn } from '../support/fault-system.js';
import type { RoleProcess } from '../support/role-process.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { customResult, customTool, requiredActions } from '../support/waiting-turns.js';
import { useFaultSystem } from '../support/use.js';
import { runIdsOf } from '../support/workflow-history.js';

/** docs/operations/workflow-changes.md "Worker versioning": turns must not keep the workers of an old build alive. */
describe('a deploy while a turn waits', function () {
  this.timeout(120_000);
  const system = useFaultSystem({ workers: 0 });

  const startBuild = (buildId: string): Promise<RoleProcess> => startCurrentBuild(system, buildId);
  const buildOf = async ({ turnId }: Turn): Promise<string | null | undefined> => {
    const { raw } = await system.client.workflow.getHandle(turnId).describe();
    return raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId;
  };

  it('a deploy while a turn waits moves the turn to the new build, which continues it when the answer comes', async () => {
    const old = await startBuild('build-1');
    system.model.on(/Go/, steps(toolUse('get_weather', {}, { id: 'toolu_1' }), 'Done.'));
    const turn = await system.begin('Go', { tools: [customTool('get_weather')] });
    await requiredActions({ api: system.insist }, turn.sessionId);
    expect(await buildOf(turn)).to.equal('build-1');

    await startBuild('build-2');
    await old.kill();
    const events = [customResult('toolu_1', 'Sun.')];
    const { status } = await system.insist('POST', `/v1/sessions/${turn.sessionId}/events`, { events });
    expect(status).to.equal(201);
    const [end] = await system.verify();
    expect(end).to.include({ type: 'turn.completed' });
    expect(await buildOf(turn)).to.equal('build-2');
    expect(await runIdsOf(system.client, turn.turnId, 1)).to.have.length(1);
  });
});

import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import type { Turn } from '../support/fault-system.js';
import type { RoleProcess } from '../support/role-process.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { customResult, customTool } from '../support/waiting-turns.js';
import { useFaultSystem } from '../support/use.js';
import { runIdsOf } from '../support/workflow-history.js';

/** docs/operations/workflow-changes.md "Worker versioning": turns must not keep the workers of an old build alive. */
describe('a deploy while a turn waits', function () {
  this.timeout(120_000);
  const system = useFaultSystem({ workers: 0 });

  const deployment = (): string => `deployment-${system.apis[0]!.env.TASK_QUEUE}`;
  const startBuild = (buildId: string): Promise<RoleProcess> =>
    system.addRole('worker', { WORKER_DEPLOYMENT_NAME: deployment(), WORKER_BUILD_ID: buildId });
  /** Repeats until the server has the workers of the build. */
  const makeCurrent = async (buildId: string): Promise<void> => {
    await eventually('the build is current', () =>
      system.client.workflowService
        .setWorkerDeploymentCurrentVersion({
          namespace: 'default',
          deploymentName: deployment(),
          buildId,
          version: `${deployment()}.${buildId}`,
          ignoreMissingTaskQueues: true,
        })
        .then(
          () => true,
          () => false,
        ),
    );
  };
  const buildOf = async ({ turnId }: Turn): Promise<string | null | undefined> => {
    const { raw } = await system.client.workflow.getHandle(turnId).describe();
    return raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId;
  };

  it('a deploy while a turn waits moves the turn to the new build, which continues it when the answer comes', async () => {
    const old = await startBuild('build-1');
    await makeCurrent('build-1');
    system.model.on(/Go/, steps(toolUse('get_weather', {}, { id: 'toolu_1' }), 'Done.'));
    const turn = await system.send(await system.session({ tools: [customTool('get_weather')] }), 'Go');
    void system.watch(turn);
    const waiting = async (): Promise<boolean> =>
      (await system.insist('GET', `/v1/sessions/${turn.sessionId}`)).body.required_actions.length === 1;
    await eventually('the turn waits', waiting);
    expect(await buildOf(turn)).to.equal('build-1');

    await startBuild('build-2');
    await makeCurrent('build-2');
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

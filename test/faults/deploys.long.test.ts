import { expect } from 'chai';
import { prepareLoad } from '../support/fault-load.js';
import { startCurrentBuild } from '../support/build-version.js';
import { describeTurn, pendingActivities } from '../support/turn-workflow.js';
import type { RoleProcess } from '../support/role-process.js';
import { text, wait } from '../support/scripted-model.js';
import { useFaultSystem } from '../support/use.js';

/** SIGTERM hands everything over: nothing is lost, nothing is cancelled. */
describe('a deploy', () => {
  const system = useFaultSystem({ apis: 2, workers: 2 });

  it('a deploy restarts every process under load, half of them at a time, and loses nothing', async () => {
    const load = await (await prepareLoad(system))(40, { words: 60, everyMs: 100 });
    await load.underWay(4);
    const restart = async (each: RoleProcess): Promise<void> => {
      expect(await each.stop(), `exit code of the ${each.role}`).to.equal(0);
      await each.start();
    };
    for (const half of [0, 1]) await Promise.all([system.workers[half]!, system.apis[half]!].map(restart));
    await load.verify();
  });

  it('a deploy gives a model call its grace, then hands it over as a retry', async () => {
    const { model, client } = system;
    const gate = model.gate();
    model.on(/hand over/, text('never told', { before: { 0: wait(gate) } }), 'Told by another.');
    const turn = await system.begin('hand over');
    await gate.reached;
    const [modelCall] = await pendingActivities(client, turn.turnId);
    const identity = modelCall!.lastWorkerIdentity!;
    const began = performance.now();
    await system.workerOf(identity).stop();
    expect(performance.now() - began, 'the grace').to.be.above(900);
    await system.verify();
    const end = (await system.history(turn.sessionId)).at(-1);
    expect(end).to.include({ type: 'turn.completed' });
    const { events } = await client.workflow.getHandle(turn.turnId).fetchHistory();
    const retried = events!.find((event) => event.activityTaskStartedEventAttributes?.lastFailure);
    expect(retried?.activityTaskStartedEventAttributes?.attempt).to.be.above(1);
    expect(retried?.activityTaskStartedEventAttributes?.lastFailure?.applicationFailureInfo?.type).to.equal(
      'HandedOver',
    );
  });

  it('a deploy ends streams after a frame, so that clients go on elsewhere', async () => {
    const gate = system.model.gate();
    system.model.on(/long answer/, text('one two three', { every: 0, before: { 2: wait(gate) } }));
    const turn = await system.send(await system.session(), 'long answer');
    const watched = system.watch(turn);
    const stream = await system.stream(turn);
    await stream.until(({ event }) => event === 'agent.message.delta');
    const exit = system.apis[0]!.stop();
    await stream.ended;
    expect(stream.frames.every(({ id, data }) => id !== '' && data !== null)).to.equal(true);
    gate.open();
    expect(await exit).to.equal(0);
    expect((await watched).frames.at(-1)).to.include({ event: 'turn.completed' });
    await system.verify();
  });

  it('a deploy runs turns on the build that is current, where versioning is on', async () => {
    const { client } = system;
    await Promise.all(system.workers.map((worker) => worker.stop()));
    const worker = await startCurrentBuild(system, 'build-1');
    const turn = await system.begin('versioned');
    await system.verify();
    const { raw } = await describeTurn(client, turn.turnId);
    expect(raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId).to.equal('build-1');
    await worker.stop();
  });
});

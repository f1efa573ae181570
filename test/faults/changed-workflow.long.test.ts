import { expect } from 'chai';
import { runTurn } from '../../ops/turn.js';
import { runWritten } from '../ops/written.js';
import { eventually } from '../support/eventually.js';
import { onLogLine } from '../support/log.js';
import { connectClient } from '../support/workflow-history.js';
import { answerFirstTask, CLOSING, WAITING } from '../support/workflow-tasks.js';
import { useTurnService } from '../support/use.js';

/** docs/operations/workflow-changes.md: a deploy of workflow code that running turns do not bear. */
describe('a turn started by incompatible workflow code', () => {
  const service = useTurnService({ workers: 0 });

  it('a turn started by incompatible workflow code continues on a worker that has its code, whatever other workers do meanwhile', async () => {
    const temporal = await connectClient(process.env.TEST_TEMPORAL_ADDRESS!);
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, 'Hello');
    await answerFirstTask(temporal.client, service.config.taskQueue, WAITING);
    const failures: Record<string, unknown>[] = [];
    const stopReading = onLogLine((line) => void (line.message === 'Failing workflow task' && failures.push(line)));
    const worker = await service.startWorker();
    const handle = temporal.client.workflow.getHandle(turnId);
    await eventually('a workflow task fails', async () => {
      const { raw } = await handle.describe();
      return (raw.pendingWorkflowTask?.attempt ?? 0) > 2;
    });
    expect((await handle.describe()).status.name).to.equal('RUNNING');
    expect((await service.history(sessionId)).map(({ type }) => type)).to.deep.equal(['user.message']);
    const command = (...args: string[]) => runWritten(() => runTurn(args, service.config.databaseUrl));
    const stuck = await command('stuck');
    expect(stuck.code).to.equal(1);
    expect(stuck.out).to.match(new RegExp(`^${turnId}  attempt \\d+  .*Nondeterminism error`));
    const replayed = await command('replay');
    expect(replayed.code).to.equal(1);
    expect(replayed.out).to.match(new RegExp(`^${turnId}  .*Nondeterminism error`));
    expect((await command('why', turnId)).out).to.match(
      /^Its workflow task fails, attempt \d+: .*Nondeterminism error/,
    );
    await worker.close();
    stopReading();
    expect(failures[0], 'an operator finds the turn and the reason in the log').to.deep.include({ turn_id: turnId });
    expect((failures[0]!.err as Error).message).to.contain('Nondeterminism error');

    // A worker that can go on; it ends the workflow, so that the reconciler starts the turn again.
    await answerFirstTask(temporal.client, service.config.taskQueue, CLOSING.completed);
    await service.startWorker();
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed', turn_id: turnId });
    expect(await command('stuck')).to.deep.include({
      code: 0,
      out: '0 turns whose workflow task fails, of 0 of 0 open ones\n',
    });
    expect((await command('replay')).code).to.equal(0);
    await temporal.close();
  });
});

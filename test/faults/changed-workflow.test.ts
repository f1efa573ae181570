import { expect } from 'chai';
import { startTurnService, type TurnService } from '../support/turns.js';
import { connectClient } from '../support/workflow-history.js';
import { answerFirstTask, WAITING } from '../support/workflow-tasks.js';

/** docs/operations/workflow-changes.md: a deploy of workflow code that running turns do not bear. */
describe('a turn started by incompatible workflow code', () => {
  let service: TurnService;
  before(async () => {
    service = await startTurnService({ workers: 0 });
  });
  after(() => service.close());

  it('fails at once instead of blocking its session until the timeout', async () => {
    const temporal = await connectClient(process.env.TEST_TEMPORAL_ADDRESS!);
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, 'Hello');
    await answerFirstTask(temporal.client, service.config.taskQueue, WAITING);
    await service.startWorker();
    const end = await service.ended(sessionId);
    expect(end).to.include({ type: 'turn.failed', turn_id: turnId });
    expect(end.error).to.include({ type: 'internal_error', retryable: true });
    const failure = await temporal.client.workflow.getHandle(turnId).result().catch(String);
    expect(failure).to.include('failed');
    await temporal.close();

    await service.send(sessionId, 'Hello again');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
  });
});

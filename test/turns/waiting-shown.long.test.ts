import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { streaming } from '../support/open-turn.js';
import { text, toolUse, wait } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { fetchHistory } from '../support/workflow-history.js';
import { useTemporalClient } from '../support/use.js';
import { workflowCompleted } from '../support/turn-workflow.js';

/** The Temporal UI shows what waits: in the current details of the open turn's workflow. */
describe('the current details of a turn', () => {
  let service: TurnService;
  const temporal = useTemporalClient();
  before(async () => (service = await startTurnService()));
  after(() => service.close());
  afterEach(() => service.model.reset());

  const shows = (turnId: string, details: string): Promise<void> =>
    eventually(`the details of ${turnId} are ${details}`, async () => {
      const metadata = await temporal.workflow
        .getHandle(turnId)
        .query<{ currentDetails: string }>('__temporal_workflow_metadata')
        .catch(() => null);
      return metadata?.currentDetails.replace(/ of at most \d+/, '') === details;
    });
  const post = async (sessionId: string, when_running: string) =>
    (await service.api('POST', `/v1/sessions/${sessionId}/messages`, { content: 'More', when_running })).body;

  it('the current details of a turn show how many messages wait for it and behind it, until they are delivered or withdrawn', async () => {
    const { sessionId, turnId, gate } = await streaming(service, { then: [toolUse('list_files')] });
    await post(sessionId, 'steer');
    const queued = [await post(sessionId, 'queue'), await post(sessionId, 'queue'), await post(sessionId, 'queue')];
    const progress = 'step 1: model call';
    await shows(turnId, `${progress}\n\n1 message waits for the next model call\n\n3 messages wait for later turns`);
    await service.api('DELETE', `/v1/sessions/${sessionId}/queue/${queued[2].id}`);
    await shows(turnId, `${progress}\n\n1 message waits for the next model call\n\n2 messages wait for later turns`);
    const [second, third] = [service.model.gate(), service.model.gate()];
    service.model.reply(
      [text('One two', { before: { 1: wait(second) } })],
      [text('One two', { before: { 1: wait(third) } })],
      'Done.',
    );
    gate.open();
    await second.reached;
    await shows(turnId, 'step 2: model call\n\n2 messages wait for later turns');
    second.open();
    await third.reached;
    await shows(queued[0].turn_id, 'step 1: model call\n\n1 message waits for later turns');
    third.open();
    await eventually('the last turn has ended', async () => {
      const { last_turn_id, status } = (await service.api('GET', `/v1/sessions/${sessionId}`)).body;
      return last_turn_id === queued[1].turn_id && status === 'COMPLETE';
    });
  });

  it('the current details of a turn get one signal for many changes, and a plain turn gets none', async () => {
    const signals = async (turnId: string): Promise<number> =>
      (await fetchHistory(temporal, turnId)).events.filter(({ eventType }) => /SIGNALED$/.test(eventType)).length;
    const { sessionId, turnId, gate } = await streaming(service);
    for (let n = 0; n < 10; n += 1) {
      const { id } = await post(sessionId, 'queue');
      await service.api('DELETE', `/v1/sessions/${sessionId}/queue/${id}`);
    }
    await post(sessionId, 'steer');
    await shows(turnId, 'step 1: model call\n\n1 message waits for the next model call');
    expect(await signals(turnId)).to.be.at.most(3);
    service.model.reply('Done.');
    gate.open();
    await service.ended(sessionId);
    service.model.on(/Plain/, 'Done.');
    const plain = await service.send(await service.session(), 'Plain', { when_running: 'queue' });
    await workflowCompleted(temporal, plain);
    expect(await signals(plain)).to.equal(0);
  });
});

import { expect } from 'chai';
import proto from '@temporalio/proto';
import type { SecondRunInput } from '../../workflows/old/second-run.js';
import { budget, PRICE, tokens } from '../support/money.js';
import { message, steps, text, toolUse } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { customResult, customTool, requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { fetchHistory, runIdsOf } from '../support/workflow-history.js';
import { answerFirstTask } from '../support/workflow-tasks.js';
import { useTemporalClient } from '../support/use.js';

const { CommandType } = proto.temporal.api.enums.v1;

/** docs/operations/workflow-changes.md "A wait in several runs": the runs that a build before this one has left behind. */
describe('a turn that waits in the second run of an older build', () => {
  const client = useTemporalClient();
  let service: TurnService;
  beforeEach(async () => (service = await startTurnService({ workers: 0, model: { price: PRICE } })));
  afterEach(() => service.close());

  /** Ends the first run as the older build did, which passed on what the turn waits for. */
  const continueInSecondRun = async (turnId: string, passedOn: Partial<SecondRunInput>): Promise<void> => {
    const [started] = (await fetchHistory(client, turnId)).events;
    const { input } = started.workflowExecutionStartedEventAttributes;
    const before = JSON.parse(Buffer.from(input.payloads[0].data as string, 'base64').toString()) as SecondRunInput;
    const next = { ...before, step: 1, remainingMs: 60_000, ...passedOn };
    const encoding = Buffer.from('json/plain');
    await client.workflow.getHandle(turnId).signal('answered');
    await answerFirstTask(client, service.config.taskQueue, {
      commandType: CommandType.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION,
      continueAsNewWorkflowExecutionCommandAttributes: {
        workflowType: { name: 'turn' },
        taskQueue: { name: service.config.taskQueue },
        input: { payloads: [{ metadata: { encoding }, data: Buffer.from(JSON.stringify(next)) }] },
      },
    });
    await runIdsOf(client, turnId, 2);
  };

  it('a turn that waits in the second run of an older build ends when the calls are answered, after its step in a third run', async () => {
    const uses = (id: string) => toolUse('get_weather', {}, { id });
    service.model.on(/Go/, steps([toolUse('list_files'), uses('toolu_1'), uses('toolu_2')], 'Done.'));
    const worker = await service.startWorker();
    const sessionId = await service.session({ tools: [customTool('get_weather')] });
    const turnId = await service.send(sessionId, 'Go');
    const actions = await requiredActions(service, sessionId, 2);
    await worker.close();
    const wait = { tools: ['list_files', 'get_weather', 'get_weather'], waiting: [1, 2] };
    await continueInSecondRun(turnId, { wait });

    await service.startWorker();
    expect(await requiredActions(service, sessionId, 2)).to.deep.equal(actions);
    await sendAnswers(service, sessionId, [customResult('toolu_1', 'Sun.')]);
    await sendAnswers(service, sessionId, [customResult('toolu_2', 'Rain.')]);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    await runIdsOf(client, turnId, 3);
    const events = await service.history(sessionId);
    expect(events.filter(({ type }) => type === 'agent.tool_result')).to.have.length(1);
    expect(service.model.requests).to.have.length(2);
  });

  it('a turn that waits in the second run of an older build ends when its budget is raised, in the same run', async () => {
    service.model.on(/Spend/, steps(message([text('done')], tokens(2))));
    const worker = await service.startWorker();
    const sessionId = await service.session({ budget: budget('0.1', 'pause'), thinking_enabled: false });
    const turnId = await service.send(sessionId, 'Spend');
    const [action] = await requiredActions(service, sessionId);
    expect(action).to.include({ type: 'budget' });
    await worker.close();
    await continueInSecondRun(turnId, { paused: true });

    await service.startWorker();
    await service.api('PATCH', `/v1/sessions/${sessionId}`, { budget: budget('0.9', 'pause') });
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed', stop_reason: 'end_turn' });
    expect(await runIdsOf(client, turnId, 2)).to.have.length(2);
    expect(service.model.requests).to.have.length(1);
  });
});

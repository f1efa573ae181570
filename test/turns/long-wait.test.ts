import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { runIdsOf } from '../support/workflow-history.js';
import { customResult, customTool, requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { useTemporalClient, useTurnService } from '../support/use.js';

/** docs/operations/workflow-changes.md "Turns that wait", without worker versioning. */
describe('a long wait', () => {
  const client = useTemporalClient();
  const service = useTurnService({ config: { longWaitSeconds: 0.5 } });

  it('goes on in a new run, and the turn in another one after the answer', async () => {
    const uses = (id: string) => toolUse('get_weather', {}, { id });
    service.model.on(/Go/, steps([toolUse('list_files'), uses('toolu_1'), uses('toolu_2')], 'Done.'));
    const sessionId = await service.session({ tools: [customTool('get_weather')] });
    const turnId = await service.send(sessionId, 'Go');
    const actions = await requiredActions(service, sessionId, 2);
    await runIdsOf(client, turnId, 2);
    expect(await requiredActions(service, sessionId, 2)).to.deep.equal(actions);
    await eventually('the new run says whose turn it is, which Temporal does not take over', async () => {
      const metadata = await client.workflow
        .getHandle(turnId)
        .query<{ currentDetails: string }>('__temporal_workflow_metadata');
      return (
        /waits for answers/.test(metadata.currentDetails) &&
        metadata.currentDetails.includes(`**Session** ${sessionId}`)
      );
    });
    await sendAnswers(service, sessionId, [customResult('toolu_1', 'Sun.')]);
    await sendAnswers(service, sessionId, [customResult('toolu_2', 'Rain.')]);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    await runIdsOf(client, turnId, 3);
    const events = await service.history(sessionId);
    expect(events.filter(({ type }) => type === 'agent.tool_result')).to.have.length(1);
    expect(events.filter(({ type }) => type === 'agent.requires_action')).to.have.length(2);
  });
});

import { expect } from 'chai';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { text, toolUse, wait, type Gate } from '../support/scripted-model.js';
import { eventually } from '../support/eventually.js';
import { describeTurn, pendingActivities } from '../support/turn-workflow.js';
import { fetchHistory, textOfHistory } from '../support/workflow-history.js';
import { useTemporalClient, useTurnService } from '../support/use.js';

const CONTENT = 'Private words';
const { PendingActivityState } = proto.temporal.api.enums.v1;

/** What docs/operations/turns.md promises to operators who look at a turn in Temporal, or act on it there. */
describe('operators', () => {
  const client = useTemporalClient();
  const service = useTurnService();
  afterEach(() => service.model.reset());

  /** A turn that has called a tool and waits for its model. */
  const waiting = async (): Promise<{ sessionId: string; turnId: string; gate: Gate }> => {
    const gate = service.model.gate();
    const held = [text(`${CONTENT} once`, { before: { 0: wait(gate) } })];
    service.model.script(({ step }, index) =>
      step === 0 ? toolUse('list_files', { why: CONTENT }) : index === 1 ? held : `${CONTENT} once`,
    );
    const sessionId = await service.session({ thinking_enabled: false });
    const turnId = await service.send(sessionId, CONTENT);
    await gate.reached;
    return { sessionId, turnId, gate };
  };

  it('operators find the turns of a project and read what each waits for', async () => {
    const { sessionId, turnId, gate } = await waiting();
    const handle = client.workflow.getHandle(turnId);
    const described = await describeTurn(client, turnId);
    expect(described.type).to.equal('turn');
    const details = await described.staticDetails();
    const [, project] = /^\*\*Project\*\* (\S+)$/m.exec(details!)!;
    const queries = [
      `ProjectId = '${project}' AND ExecutionStatus = 'Running'`,
      `SessionId = '${sessionId}'`,
      `ModelId = 'scripted' AND WorkflowType = 'turn' AND ProjectId = '${project}'`,
    ];
    for (const query of queries) await untilFound(client, query, turnId);
    expect(await described.staticSummary()).to.equal(`turn of ${sessionId}`);
    expect(details).to.include(`**Session** ${sessionId}`).and.to.include('**Model** scripted');

    const metadata: { currentDetails?: string } = await handle.query('__temporal_workflow_metadata');
    expect(metadata.currentDetails).to.match(/^step 2 of at most \d+: model call$/);

    const { events } = await handle.fetchHistory();
    const summaries = events!
      .filter((event) => event.activityTaskScheduledEventAttributes)
      .map(({ userMetadata }) => JSON.parse(Buffer.from(userMetadata!.summary!.data!).toString()) as string);
    expect(summaries).to.deep.equal(['model call 1 · scripted', 'tool list_files', 'model call 2 · scripted']);
    gate.open();
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect(textOfHistory(await fetchHistory(client, turnId))).not.to.include(CONTENT);
  });

  it('operators pause an activity and let it run again: nothing happens twice', async () => {
    const { sessionId, turnId, gate } = await waiting();
    const request = { namespace: 'default', execution: { workflowId: turnId }, identity: 'test', type: 'callModel' };
    await client.workflowService.pauseActivity(request);
    const { PENDING_ACTIVITY_STATE_PAUSED } = PendingActivityState;
    await eventually('the activity is paused', async () => {
      const [modelCall] = await pendingActivities(client, turnId);
      return modelCall?.state === PENDING_ACTIVITY_STATE_PAUSED;
    });
    const calls = service.model.requests.length;
    gate.open();
    await client.workflowService.unpauseActivity(request);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect(service.model.requests.length).to.equal(calls + 1);
    const types = (await service.history(sessionId)).map((event) => event.type as string);
    expect(types).to.deep.equal(EACH_ONCE);
  });

  it('operators reset an activity: nothing happens twice', async () => {
    const { sessionId, turnId, gate } = await waiting();
    const request = { namespace: 'default', execution: { workflowId: turnId }, identity: 'test', type: 'callModel' };
    await client.workflowService.resetActivity(request);
    gate.open();
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    const types = (await service.history(sessionId)).map((event) => event.type as string);
    expect(types).to.deep.equal(EACH_ONCE);
  });
});

const EACH_ONCE = ['user.message', 'agent.tool_use', 'agent.tool_result', 'agent.message', 'turn.completed'];
/** Visibility follows a moment later. */
function untilFound(client: Client, query: string, turnId: string): Promise<void> {
  return eventually(query, async () => {
    for await (const { workflowId } of client.workflow.list({ query })) if (workflowId === turnId) return true;
    return false;
  });
}

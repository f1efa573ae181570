import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { confirmation, customResult, customTool, requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { useRegisteredMcp, useTemporalClient } from '../support/use.js';

const ACTION_TIMEOUT_SECONDS = 9;
/** Less than a wait, and enough for three steps on a busy machine. */
const TURN_TIMEOUT_SECONDS = 8;

/** decisions.md "Person in the loop": a call without an answer, and the turn's own time limit. */
describe('a wait that ends by time', function () {
  this.timeout(60_000);
  const client = useTemporalClient();
  const { mcp, service, registered } = useRegisteredMcp(
    'mail',
    { tools: [{ name: 'send' }] },
    {
      config: {
        actionTimeoutSeconds: ACTION_TIMEOUT_SECONDS,
        turnTimeoutSeconds: TURN_TIMEOUT_SECONDS,
      },
    },
  );
  afterEach(() => service.model.reset());

  const newSession = (): Promise<string> =>
    service.session({
      thinking_enabled: false,
      mcp_servers: [registered.id],
      tools: [
        {
          type: 'mcp_toolset',
          mcp_server_id: registered.id,
          default_config: { permission_policy: { type: 'always_ask' } },
        },
        customTool('get_weather'),
      ],
    });

  it('a wait that ends by time reports to the model that the call expired, and continues', async () => {
    const uses = [toolUse('mcp__mail__send', {}, { id: 'toolu_1' }), toolUse('get_weather', {}, { id: 'toolu_2' })];
    service.model.on(/Go/, steps(uses, 'Done.'));
    const sessionId = await newSession();
    await service.send(sessionId, 'Go');
    const [{ expires_at }] = await requiredActions(service, sessionId, 2);
    expect(Date.parse(expires_at) - Date.now()).to.be.within(0, ACTION_TIMEOUT_SECONDS * 1000);
    const end = await service.ended(sessionId);
    expect(end, 'the wait does not count against the time limit').to.include({ type: 'turn.completed' });
    expect(end.timing.waiting_ms).to.be.at.least(ACTION_TIMEOUT_SECONDS * 1000 - 100);
    expect(mcp.calls).to.deep.equal([]);

    const results = (await service.history(sessionId)).filter(({ type }) => type === 'agent.tool_result');
    expect(results.map(({ tool_use_id, is_error }) => [tool_use_id, is_error])).to.have.deep.members([
      ['toolu_1', true],
      ['toolu_2', true],
    ]);
    for (const { content } of results) {
      expect(content).to.include('not answered in time');
      expect(content).to.not.match(/den(y|ied)/i);
    }
    const sent = JSON.stringify(service.model.requests.at(-1)!.body.messages.at(-1));
    expect(sent)
      .to.include('not answered in time')
      .and.not.match(/den(y|ied)/i);

    for (const event of [confirmation('toolu_1', 'allow'), customResult('toolu_2', 'late')]) {
      const late = await sendAnswers(service, sessionId, [event]);
      expect([late.status, late.body.error.details.state]).to.deep.equal([409, 'expired']);
    }
  });

  it('a wait that ends by time asks again for a call that expired: it was not denied', async () => {
    const use = (id: string) => toolUse('mcp__mail__send', { to: 'ada' }, { id });
    service.model.on(/Go/, steps(use('toolu_1'), use('toolu_2'), 'Done.'));
    const sessionId = await newSession();
    await service.send(sessionId, 'Go');
    await requiredActions(service, sessionId);
    const stream = await service.stream(sessionId);
    await stream.until(
      ({ event, data }) => event === 'agent.requires_action' && data.required_actions[0].tool_use_id === 'toolu_2',
    );
    await sendAnswers(service, sessionId, [confirmation('toolu_2', 'allow')]);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect(mcp.calls).to.have.length(1);
  });

  it('a wait that ends by time is found by operators: search attribute, current details, and no activity', async () => {
    service.model.on(/Go/, steps(toolUse('get_weather', {}, { id: 'toolu_1' }), 'Done.'));
    const sessionId = await newSession();
    const turnId = await service.send(sessionId, 'Go');
    await requiredActions(service, sessionId);
    const handle = client.workflow.getHandle(turnId);
    const found = async (): Promise<string[]> => {
      const ids: string[] = [];
      for await (const { workflowId } of client.workflow.list({
        query: `WaitsFor = 'answer' AND WorkflowType = 'turn'`,
      })) {
        ids.push(workflowId);
      }
      return ids;
    };
    await eventually('the turn is found', async () => (await found()).includes(turnId));
    const { raw } = await handle.describe();
    expect(raw.pendingActivities ?? []).to.deep.equal([]);
    const metadata = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    expect(metadata.currentDetails).to.include('waits for answers to tools get_weather');
    await sendAnswers(service, sessionId, [customResult('toolu_1', 'Sun.')]);
    await service.ended(sessionId);
    await eventually('the turn is found no more', async () => !(await found()).includes(turnId));
  });
});

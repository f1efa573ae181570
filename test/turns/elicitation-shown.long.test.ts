import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import type { Question, TestTask, TestToolCall } from '../support/mcp-server.js';
import { BRANCH_FORM as FORM, useOps } from '../support/ops-server.js';
import { requiredActions } from '../support/waiting-turns.js';
import { useTemporalClient } from '../support/use.js';

const PAGE: Question = { mode: 'url', message: 'Please pay.', elicitationId: 'p1', url: 'https://pay.example.com/1' };

/** What operators and clients see of the questions of servers (decisions.md "Tasks and elicitation"). */
describe('a question of a server', () => {
  const temporal = useTemporalClient();
  let work: (call: TestToolCall) => unknown;
  let workTask: (task: TestTask) => unknown;
  let slow: () => unknown;

  const { service, start, answer, result, expectClosed } = useOps({
    tasks: true,
    tools: [
      { name: 'deploy', run: (call) => work(call) },
      { name: 'slow', run: () => slow() },
      { name: 'build', pollInterval: 1000, task: (task) => workTask(task) },
    ],
  });
  const decline = async (sessionId: string, { elicitation_id: id }: { elicitation_id: string }): Promise<void> => {
    expect((await answer(sessionId, id, 'decline')).status).to.equal(201);
  };
  const isFound = async (turnId: string, waitsFor: string): Promise<boolean> => {
    const query = `WaitsFor = '${waitsFor}' AND WorkflowId = '${turnId}' AND ExecutionStatus = 'Running'`;
    for await (const _ of temporal.workflow.list({ query })) return true;
    return false;
  };
  const details = async (turnId: string): Promise<string> => {
    const handle = temporal.workflow.getHandle(turnId);
    return (await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;
  };

  it('a question of a server of a direct call lets operators find the turn until it is answered', async () => {
    const [again, end] = [service.model.gate(), service.model.gate()];
    work = async ({ ask }) => {
      await Promise.all([ask(FORM), ask(FORM)]);
      again.open();
      await end.opened;
      return 'ok';
    };
    const { sessionId, turnId } = await start('deploy');
    const actions = await requiredActions(service, sessionId, 2);
    await eventually('the turn is found', () => isFound(turnId, 'answer'));
    expect(await details(turnId)).to.include('waits for answers to questions of tools mcp__ops__deploy');
    for (const action of actions) await decline(sessionId, action);
    await again.opened;
    await eventually('the turn is found no more', async () => !(await isFound(turnId, 'answer')));
    expect(await details(turnId)).to.match(/tools mcp__ops__deploy$/);
    end.open();
    await result(sessionId);
  });

  it('a question of a server of a task lets operators find the turn while it is open', async () => {
    const finish = service.model.gate();
    workTask = async ({ update, ask, end }) => {
      await update('input_required');
      await ask(FORM);
      await update('working', 'Building');
      await finish.opened;
      await end('completed', 'Built.');
    };
    const { sessionId, turnId } = await start('build');
    const [question] = await requiredActions(service, sessionId);
    await eventually('the turn is found', () => isFound(turnId, 'answer'));
    expect(await details(turnId)).to.match(
      /^step 1 of at most \d+: waits for tasks of tools mcp__ops__build\n[^]*waits for answers to questions of tools mcp__ops__build(\n|$)/,
    );
    await decline(sessionId, question);
    await eventually('the turn waits for its task alone', () => isFound(turnId, 'task'));
    expect(await details(turnId)).to.match(/: waits for tasks of tools mcp__ops__build(\n|$)/);
    const progress = (await service.history(sessionId)).find(({ type }) => type === 'agent.tool_progress');
    expect(progress).to.include({ status: 'input_required', message: null });
    finish.open();
    await result(sessionId);
  });

  it('a question of a server is asked at once, beside a call that still runs', async () => {
    const running = service.model.gate();
    slow = () => running.opened.then(() => 'slow');
    work = ({ ask }) => ask(FORM).then(({ action }) => action);
    const { sessionId } = await start(['slow', 'deploy']);
    const [question] = await requiredActions(service, sessionId);
    expect(question).to.include({ tool_use_id: 'toolu_deploy' });
    const results = async () => (await service.history(sessionId)).filter(({ type }) => type === 'agent.tool_result');
    expect(await results()).to.deep.equal([]);
    await decline(sessionId, question);
    await eventually('the answered call ends', async () => (await results()).length === 1);
    running.open();
    await result(sessionId);
    expect((await results()).map(({ content }) => content as string)).to.deep.equal(['decline', 'slow']);
  });

  it('a question of a server closes when its task goes on without an answer', async () => {
    const [goOn, finish] = [service.model.gate(), service.model.gate()];
    workTask = async ({ update, ask, end }) => {
      await update('input_required');
      ask(PAGE).catch(() => undefined);
      await goOn.opened;
      await update('working');
      await finish.opened;
      await end('completed', 'Built without it.');
    };
    const { sessionId } = await start('build');
    const [{ elicitation_id }] = await requiredActions(service, sessionId);
    goOn.open();
    await requiredActions(service, sessionId, 0);
    finish.open();
    await result(sessionId);
    await expectClosed(sessionId, elicitation_id, 'withdrawn', 'accept');
  });
});

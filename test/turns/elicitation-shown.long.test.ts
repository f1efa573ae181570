import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import type { Question, TestTask, TestToolCall } from '../support/mcp-server.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { useRegisteredMcp, useTemporalClient } from '../support/use.js';

const FORM: Question = {
  mode: 'form',
  message: 'Which branch?',
  requestedSchema: { type: 'object', properties: { branch: { type: 'string' } } },
};
const PAGE: Question = { mode: 'url', message: 'Please pay.', elicitationId: 'p1', url: 'https://pay.example.com/1' };

/** What operators and clients see of the questions of servers (decisions.md "Tasks and elicitation"). */
describe('a question of a server', () => {
  const temporal = useTemporalClient();
  let work: (call: TestToolCall) => unknown;
  let workTask: (task: TestTask) => unknown;
  let slow: () => unknown;

  const { service, registered } = useRegisteredMcp('ops', {
    tasks: true,
    tools: [
      { name: 'deploy', run: (call) => work(call) },
      { name: 'slow', run: () => slow() },
      { name: 'build', pollInterval: 1000, task: (task) => workTask(task) },
    ],
  });
  afterEach(() => service.model.reset());

  const start = async (...tools: string[]): Promise<{ sessionId: string; turnId: string }> => {
    const calls = tools.map((tool) => toolUse(`mcp__ops__${tool}`, {}, { id: `toolu_${tool}` }));
    service.model.on(/Go/, steps(calls, 'Done.'));
    const sessionId = await service.session({
      mcp_servers: [registered.id],
      tools: [{ type: 'mcp_toolset', mcp_server_id: registered.id, elicitation: true }],
    });
    return { sessionId, turnId: await service.send(sessionId, 'Go') };
  };
  const answer = async (sessionId: string, { elicitation_id }: { elicitation_id: string }): Promise<void> => {
    const { status } = await sendAnswers(service, sessionId, [
      { type: 'user.elicitation_result', elicitation_id, action: 'decline' },
    ]);
    expect(status).to.equal(201);
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
    let asked = (): void => undefined;
    const again = new Promise<void>((resolve) => (asked = resolve));
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    work = async ({ ask }) => {
      await Promise.all([ask(FORM), ask(FORM)]);
      asked();
      await finished;
      return 'ok';
    };
    const { sessionId, turnId } = await start('deploy');
    const actions = await requiredActions(service, sessionId, 2);
    await eventually('the turn is found', () => isFound(turnId, 'answer'));
    expect(await details(turnId)).to.include('waits for answers to questions of tools mcp__ops__deploy');
    await answer(sessionId, actions[0]);
    await answer(sessionId, actions[1]);
    await again;
    await eventually('the turn is found no more', async () => !(await isFound(turnId, 'answer')));
    expect(await details(turnId)).to.match(/tools mcp__ops__deploy$/);
    finish();
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
  });

  it('a question of a server of a task lets operators find the turn while it is open', async () => {
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    workTask = async ({ update, ask, end }) => {
      await update('input_required');
      await ask(FORM);
      await update('working', 'Building');
      await finished;
      await end('completed', 'Built.');
    };
    const { sessionId, turnId } = await start('build');
    const [question] = await requiredActions(service, sessionId);
    await eventually('the turn is found', () => isFound(turnId, 'answer'));
    expect(await details(turnId)).to.match(
      /^step 1 of at most \d+: waits for tasks of tools mcp__ops__build\n[^]*waits for answers to questions of tools mcp__ops__build(\n|$)/,
    );
    await answer(sessionId, question);
    await eventually('the turn waits for its task alone', () => isFound(turnId, 'task'));
    expect(await details(turnId)).to.match(/: waits for tasks of tools mcp__ops__build(\n|$)/);
    const progress = (await service.history(sessionId)).find(({ type }) => type === 'agent.tool_progress');
    expect(progress).to.include({ status: 'input_required', message: null });
    finish();
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
  });

  it('a question of a server is asked at once, beside a call that still runs', async () => {
    let finish = (): void => undefined;
    const running = new Promise<void>((resolve) => (finish = resolve));
    slow = () => running.then(() => 'slow');
    work = ({ ask }) => ask(FORM).then(({ action }) => action);
    const { sessionId } = await start('slow', 'deploy');
    const [question] = await requiredActions(service, sessionId);
    expect(question).to.include({ tool_use_id: 'toolu_deploy' });
    const results = async () => (await service.history(sessionId)).filter(({ type }) => type === 'agent.tool_result');
    expect(await results()).to.deep.equal([]);
    await answer(sessionId, question);
    await eventually('the answered call ends', async () => (await results()).length === 1);
    finish();
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect((await results()).map(({ content }) => content as string)).to.deep.equal(['decline', 'slow']);
  });

  it('a question of a server closes when its task goes on without an answer', async () => {
    let [goOn, finish] = [(): void => undefined, (): void => undefined];
    const waiting = new Promise<void>((resolve) => (goOn = resolve));
    const finished = new Promise<void>((resolve) => (finish = resolve));
    workTask = async ({ update, ask, end }) => {
      await update('input_required');
      ask(PAGE).catch(() => undefined);
      await waiting;
      await update('working');
      await finished;
      await end('completed', 'Built without it.');
    };
    const { sessionId } = await start('build');
    const [{ elicitation_id }] = await requiredActions(service, sessionId);
    goOn();
    await eventually('the question is closed', async () => {
      const { body } = await service.api('GET', `/v1/sessions/${sessionId}`);
      return body.required_actions.length === 0;
    });
    finish();
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    const late = await sendAnswers(service, sessionId, [
      { type: 'user.elicitation_result', elicitation_id, action: 'accept' },
    ]);
    expect([late.status, late.body.error.details.state]).to.deep.equal([409, 'withdrawn']);
  });
});

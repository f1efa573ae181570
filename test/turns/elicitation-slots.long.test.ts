import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import type { Question, TestToolCall } from '../support/mcp-server.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { useRegisteredMcp } from '../support/use.js';

const FORM: Question = {
  mode: 'form',
  message: 'Which branch?',
  requestedSchema: { type: 'object', properties: { branch: { type: 'string' } } },
};

/** decisions.md "Elicitation": what a call that waits for a person holds, and what a deploy does with it. */
describe('a call that waits for a person', () => {
  let work: (call: TestToolCall) => unknown;
  const { service, registered } = useRegisteredMcp(
    'ops',
    { tools: [{ name: 'deploy', run: (call) => work(call) }, { name: 'look' }] },
    // Room for one tool call at a time.
    { workers: 0, config: { workerMaxActivities: 2 }, own: 'closes workers' },
  );
  beforeEach(() => (work = async ({ ask }) => (await ask(FORM)).action));
  afterEach(() => service.model.reset());

  const start = async (tool: string): Promise<string> => {
    service.model.on(new RegExp(tool), steps([toolUse(`mcp__ops__${tool}`, {}, { id: 'toolu_1' })], 'Done.'));
    const sessionId = await service.session({
      mcp_servers: [registered.id],
      tools: [{ type: 'mcp_toolset', mcp_server_id: registered.id, elicitation: true }],
    });
    await service.send(sessionId, tool);
    return sessionId;
  };
  const decline = async (sessionId: string): Promise<void> => {
    const [{ elicitation_id }] = await requiredActions(service, sessionId);
    const answer = { type: 'user.elicitation_result', elicitation_id, action: 'decline' };
    expect((await sendAnswers(service, sessionId, [answer])).status).to.equal(201);
  };
  const result = async (sessionId: string): Promise<unknown> => {
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    return (await service.history(sessionId)).find(({ type }) => type === 'agent.tool_result').content;
  };

  it('a call that waits for a person holds no slot: others run their tools, and all go on when they are answered', async () => {
    const worker = await service.startWorker();
    const waiting = [];
    for (let n = 0; n < 4; n += 1) waiting.push(await start('deploy'));
    for (const sessionId of waiting) await requiredActions(service, sessionId);
    expect(await result(await start('look'))).to.equal('ok');
    for (const sessionId of waiting) await decline(sessionId);
    for (const sessionId of waiting) expect(await result(sessionId)).to.equal('decline');
    await worker.close();
  });

  it('a call that waits for a person is kept by a worker that drains, while others take the other work', async () => {
    const worker = await service.startWorker({ shutdownGraceSeconds: 90 });
    const sessionId = await start('deploy');
    await requiredActions(service, sessionId);
    const closed = worker.close();
    const next = await service.startWorker();
    expect(await result(await start('look'))).to.equal('ok');
    await decline(sessionId);
    expect(await result(sessionId)).to.equal('decline');
    await closed;
    await next.close();
  });

  it('a call that waits for a person ends with its worker when the grace is over, and its result says that a restart ended it', async () => {
    let isCancelled = false;
    work = async ({ ask, signal }) => {
      signal.addEventListener('abort', () => (isCancelled = true));
      return ask(FORM);
    };
    const worker = await service.startWorker();
    const sessionId = await start('deploy');
    const [{ elicitation_id }] = await requiredActions(service, sessionId);
    await worker.close();
    const next = await service.startWorker();
    expect(await result(sessionId)).to.match(/^A restart of the service ended this call of mcp__ops__deploy/);
    const late = await sendAnswers(service, sessionId, [
      { type: 'user.elicitation_result', elicitation_id, action: 'decline' },
    ]);
    expect([late.status, late.body.error.details.state]).to.deep.equal([409, 'lost']);
    await eventually('the server hears that nobody waits', () => Promise.resolve(isCancelled));
    const unclosed = await service.db.query('SELECT FROM waits WHERE session_id = $1 AND closed_at IS NULL', [
      sessionId,
    ]);
    expect(unclosed).to.deep.equal([]);
    await next.close();
  });
});

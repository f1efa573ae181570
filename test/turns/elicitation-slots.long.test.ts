import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import type { TestToolCall } from '../support/mcp-server.js';
import { BRANCH_FORM as FORM, useOps } from '../support/ops-server.js';
import { requiredActions } from '../support/waiting-turns.js';

/** decisions.md "Elicitation": what a call that waits for a person holds, and what a deploy does with it. */
describe('a call that waits for a person', () => {
  let work: (call: TestToolCall) => unknown;
  const { service, declineAll, expectClosed, expectNoneOpen, ...ops } = useOps(
    { tools: [{ name: 'deploy', run: (call) => work(call) }, { name: 'look' }] },
    // Room for one tool call at a time.
    { workers: 0, config: { workerMaxActivities: 2 }, own: 'closes workers' },
  );
  beforeEach(() => (work = async ({ ask }) => (await ask(FORM)).action));
  const start = async (tool: string): Promise<string> => (await ops.start(tool)).sessionId;
  const result = async (sessionId: string): Promise<string> => (await ops.result(sessionId)).content;

  it('a call that waits for a person holds no slot: others run their tools, and all go on when they are answered', async () => {
    const worker = await service.startWorker();
    const waiting = [];
    for (let n = 0; n < 4; n += 1) waiting.push(await start('deploy'));
    for (const sessionId of waiting) await requiredActions(service, sessionId);
    expect(await result(await start('look'))).to.equal('ok');
    for (const sessionId of waiting) await declineAll(sessionId);
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
    await declineAll(sessionId);
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
    await expectClosed(sessionId, elicitation_id, 'lost');
    await eventually('the server hears that nobody waits', () => Promise.resolve(isCancelled));
    await expectNoneOpen(sessionId);
    await next.close();
  });
});

import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import type { McpServerOptions, TestTask } from '../support/mcp-server.js';
import { useOps } from '../support/ops-server.js';
import { requiredActions } from '../support/waiting-turns.js';
import { useTemporalClient } from '../support/use.js';

interface Received {
  /** The method of the message, of the HTTP request without one, or `answer`. */
  method: string;
  session: string | undefined;
  params: Record<string, unknown>;
  at: number;
}

/** decisions.md "Tasks and elicitation", "Details of tasks": which requests a server gets about a task, and when. */
describe('the requests about a task', () => {
  const temporal = useTemporalClient();
  let work: (task: TestTask) => unknown;
  let received: Received[] = [];
  /** Answers some requests in place of the server. */
  let answerFor: (method: string) => { status: number; body?: object } | null = () => null;
  /** What happens before a request is answered. */
  let beforeAnswer: (method: string) => Promise<unknown> = () => Promise.resolve();

  const gateway: McpServerOptions['gateway'] = async (req, res, body) => {
    const message = body === '' ? {} : (JSON.parse(body) as { id?: number; method?: string; params?: object });
    const method = message.method ?? (body === '' ? req.method! : 'answer');
    const session = req.headers['mcp-session-id'] as string | undefined;
    received.push({ method, session, params: { ...message.params }, at: performance.now() });
    await beforeAnswer(method);
    const answer = answerFor(method);
    if (answer === null) return false;
    res.writeHead(answer.status, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer.body }));
    return true;
  };

  const {
    service,
    registered,
    answer,
    isCancelled,
    result: resultOf,
    ...ops
  } = useOps({
    tasks: true,
    tools: [{ name: 'build', pollInterval: 1000, task: (task) => work(task) }],
    gateway,
  });
  beforeEach(() => {
    received = [];
    answerFor = () => null;
    beforeAnswer = () => Promise.resolve();
  });

  const start = async (): Promise<{ sessionId: string; turnId: string; task: TestTask }> => {
    const begun = new Promise<TestTask>((resolve) => (work = resolve));
    return { ...(await ops.start('build')), task: await begun };
  };
  /** Refuses this many requests to cancel the task; returns how many it has refused. */
  const refuseCancels = (times: number): (() => number) => {
    let refused = 0;
    answerFor = (method) => {
      if (method !== 'tasks/cancel' || refused === times) return null;
      refused += 1;
      return { status: 503 };
    };
    return () => refused;
  };
  const of = (...methods: string[]): Received[] => received.filter(({ method }) => methods.includes(method));

  it('the requests about a task ask for it to be kept for TASK_TIMEOUT_SECONDS, and all go to its MCP session, which ends after it', async () => {
    const { sessionId, task } = await start();
    await task.update('input_required');
    const answered = task.ask({ mode: 'form', message: '?', requestedSchema: { type: 'object', properties: {} } });
    const [{ elicitation_id }] = await requiredActions(service, sessionId);
    await answer(sessionId, elicitation_id, 'accept', {});
    expect(await answered).to.deep.equal({ action: 'accept', content: {} });
    await task.update('working');
    const before = received.length;
    await eventually('another poll', async () => received.slice(before).some(({ method }) => method === 'tasks/get'));
    expect(of('DELETE')).to.deep.equal([]);
    await task.end('completed', 'Built.');
    expect(await resultOf(sessionId)).to.include({ is_error: false, content: 'Built.' });
    await eventually('the session is deleted', async () => of('DELETE').length > 0);
    const [call, ...more] = of('tools/call');
    expect(more).to.deep.equal([]);
    expect(call!.params.task).to.deep.equal({ ttl: 86_400_000 });
    const about = of('tasks/get', 'tasks/result', 'answer', 'DELETE');
    expect(new Set(about.map(({ session }) => session))).to.deep.equal(new Set([call!.session]));
    expect(new Set(about.map(({ method }) => method)).size).to.equal(4);
    expect(about.at(-1)).to.include({ method: 'DELETE' });
  });

  it('the requests about a task come after a second at first, then at the newest interval', async () => {
    let polls = 0;
    answerFor = (method) => {
      if (method !== 'tasks/get') return null;
      polls += 1;
      const result = { taskId: 't', status: 'working', pollInterval: polls === 1 ? 3000 : 1000 };
      return { status: 200, body: { result } };
    };
    const { sessionId, task } = await start();
    await eventually('three polls', async () => polls >= 3);
    answerFor = () => null;
    await task.end('completed', 'Built.');
    await resultOf(sessionId);
    const [call] = of('tools/call');
    const [first, second, third] = of('tasks/get');
    expect(first!.at - call!.at).to.be.within(1000, 2900);
    expect(second!.at - first!.at).to.be.at.least(3000);
    expect(third!.at - second!.at).to.be.within(1000, 2900);
  });

  it('the requests about a task come once a minute after ten minutes', async () => {
    const { sessionId, turnId, task } = await start();
    await eventually('the first poll', async () => of('tasks/get').length > 0);
    const age = `UPDATE tool_calls SET started_at = started_at - interval '601 s' WHERE turn_id = $1`;
    await service.db.query(age, [turnId]);
    const pause = async (): Promise<number> => {
      const { raw } = await temporal.workflow.getHandle(turnId).describe();
      const [pending] = raw.pendingActivities!;
      const [last, next] = [pending?.lastAttemptCompleteTime, pending?.nextAttemptScheduleTime];
      return Number(next?.seconds ?? 0) - Number(last?.seconds ?? 0);
    };
    await eventually('a pause of a minute', async () => Math.abs((await pause()) - 60) <= 1);
    expect(await service.cancel(sessionId)).to.include({ type: 'turn.cancelled' });
    await eventually('the task is cancelled', () => isCancelled(task.id));
  });

  it('the requests about a task are repeated after any other error than -32602', async () => {
    const { sessionId, task } = await start();
    const errors = [-32600, -32601, -32603, -32001].map((code) => ({ code, message: 'No.' }));
    let refused = 0;
    answerFor = (method) => {
      const error = method === 'tasks/get' ? errors[refused] : undefined;
      if (error === undefined) return null;
      refused += 1;
      return { status: 200, body: { error } };
    };
    await eventually('every error was given', async () => refused === errors.length);
    await task.end('completed', 'Built all the same.');
    expect(await resultOf(sessionId)).to.include({ is_error: false, content: 'Built all the same.' });
    expect(of('tools/call')).to.have.length(1);
  });

  it('the requests about a task cancel it again and again while its server is away, in its MCP session', async () => {
    const { sessionId, task } = await start();
    await eventually('the task is stored, and asked for', () => of('tasks/get').length > 0);
    const refused = refuseCancels(3);
    expect(await service.cancel(sessionId)).to.include({ type: 'turn.cancelled' });
    await eventually('the task is cancelled', () => isCancelled(task.id));
    expect(refused()).to.equal(3);
    await eventually('the session is deleted', async () => of('DELETE').length > 0);
    const session = of('tools/call')[0]!.session;
    for (const request of of('tasks/cancel', 'DELETE')) expect(request.session).to.equal(session);
  });

  it('the requests about a task cancel one that could not be stored again and again as well', async () => {
    const refused = refuseCancels(2);
    // As if another attempt had taken the call over while the server began the task.
    beforeAnswer = async (method) => {
      if (method !== 'tools/call') return;
      await service.db.query(
        `UPDATE tool_calls SET task_token = '\\x00' FROM turns JOIN sessions ON sessions.id = session_id
         WHERE turns.id = turn_id AND $1 = ANY(mcp_servers) AND tool_calls.state = 'started'`,
        [registered.id],
      );
    };
    const { sessionId, task } = await start();
    await eventually('the task is cancelled', () => isCancelled(task.id));
    expect(refused()).to.equal(2);
    expect(of('tasks/get')).to.deep.equal([]);
    expect((await resultOf(sessionId)).content).to.match(/outcome .* is unknown/);
    await eventually('the session is deleted', async () => of('DELETE').length > 0);
  });
});

import { expect } from 'chai';
import type { ServerResponse } from 'node:http';
import { useOps } from '../support/ops-server.js';

/** What a server may do with its tasks, at worst. */
describe('tasks of a hostile server', () => {
  let task: () => Record<string, unknown>;
  let asked: number[];
  /** Answers `tasks/result`. */
  let fetched: (id: number, res: ServerResponse) => void;

  const { mcp, service, start, declineAll } = useOps(
    {
      tasks: true,
      tools: [{ name: 'build', task: () => undefined }],
      gateway: (_, res, body) => {
        const { id, method } = JSON.parse(body || '{}') as { id?: number; method?: string };
        if (method === 'tasks/result') {
          fetched(id!, res);
          return true;
        }
        if (method !== 'tools/call' && method !== 'tasks/get') return false;
        if (method === 'tasks/get') asked.push(Date.now());
        const result = method === 'tools/call' ? { task: task() } : task();
        json(res, { id, result });
        return true;
      },
    },
    { config: { taskTimeoutSeconds: 8 } },
  );
  beforeEach(() => {
    asked = [];
    mcp.log.length = 0;
  });

  // oxlint-disable-next-line typescript/no-explicit-any -- an event of any type
  const run = async (elicitation = false): Promise<any[]> => {
    const { sessionId } = await start('build', elicitation);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    return service.history(sessionId);
  };
  const json = (res: ServerResponse, answer: object): void => {
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', ...answer }));
  };
  const eventOf = (sent: object): string => `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...sent })}\n\n`;
  const resultIn = <T extends { type: string }>(events: T[]): T | undefined =>
    events.find(({ type }) => type === 'agent.tool_result');
  const results = (): number => mcp.log.filter((method) => method === 'tasks/result').length;

  it('tasks of a hostile server may have a result of 250,000 values, and an error result instead of more', async () => {
    for (const [values, isError] of [
      [240_000, false],
      [260_000, true],
    ] as const) {
      mcp.log.length = 0;
      task = () => ({ taskId: 't1', status: asked.length === 0 ? 'working' : 'completed' });
      const rows = Array.from({ length: values }, () => 7);
      fetched = (id, res) => json(res, { id, result: { content: [], structuredContent: { rows } } });
      const result = resultIn(await run());
      expect(result.is_error).to.equal(isError);
      if (isError) expect(result.content).to.include('more than 250,000 JSON values');
      expect(results()).to.equal(1);
    }
  });

  it('tasks of a hostile server may end with an address that a person has to open first', async () => {
    task = () => ({ taskId: 't1', status: asked.length === 0 ? 'working' : 'failed' });
    const page = { mode: 'url', elicitationId: 'p1', url: 'https://pay.example.com/1', message: 'Please pay.' };
    const error = { code: -32042, message: 'Pay first.', data: { elicitations: [page] } };
    fetched = (id, res) => json(res, { id, error });
    const result = resultIn(await run());
    expect(result).to.include({ is_error: true });
    expect(result.content).to.include(
      'a person has to open this address first.\nhttps://pay.example.com/1 (Please pay.)',
    );
  });

  it('tasks of a hostile server may flood the answer to tasks/result, and the turn ends all the same', async () => {
    task = () => ({ taskId: 't1', status: 'input_required' });
    const params = { progressToken: 1, progress: 1, message: 'x'.repeat(1000) };
    const piece = eventOf({ method: 'notifications/progress', params }).repeat(64);
    let sent = 0;
    fetched = (_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const more = (): void => {
        while (!res.destroyed && res.write(piece)) sent += piece.length;
      };
      res.on('drain', more);
      more();
    };
    const events = await run(true);
    expect(resultIn(events).content).to.include('did not finish within 8 s');
    expect(sent).to.be.lessThan(64 * 1024 * 1024);
    expect(events.length).to.be.lessThan(10);
  });

  it('tasks of a hostile server may ask without end, and 20 questions are open', async () => {
    task = () => ({ taskId: 't1', status: 'input_required' });
    const params = { mode: 'form', message: '?', requestedSchema: { type: 'object', properties: {} } };
    fetched = (_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let id = 1; id <= 30; id += 1) res.write(eventOf({ id, method: 'elicitation/create', params }));
    };
    const { sessionId } = await start('build');
    await declineAll(sessionId, 20);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    const events = await service.history(sessionId);
    const most = events
      .filter(({ type }) => type === 'agent.requires_action')
      .map(({ required_actions }) => (required_actions as unknown[]).length);
    expect(Math.max(...most)).to.equal(20);
    expect(resultIn(events).content).to.include('did not finish within 8 s');
  });

  it('tasks of a hostile server end after TASK_TIMEOUT_SECONDS, and are cancelled on the server', async () => {
    let n = 0;
    task = () => {
      n += 1;
      const status = n % 2 === 0 ? 'input_required' : 'working';
      return { taskId: 't1', status, statusMessage: `${n}`.repeat(10_000), pollInterval: 0 };
    };
    const events = await run();
    const result = resultIn(events);
    expect(result).to.include({ is_error: true });
    expect(result.content).to.include('did not finish within 8 s');
    // A second apart, however often the server would like it.
    expect(asked.length).to.be.within(2, 9);
    const progress = events.filter(({ type }) => type === 'agent.tool_progress');
    expect(progress.length).to.be.within(1, 2);
    for (const { message } of progress) expect(message).to.have.length(1000);
    expect(mcp.log).to.include('tasks/cancel');
  });

  it('tasks of a hostile server have an id that can be kept', async () => {
    for (const taskId of ['x'.repeat(1024 * 1024), '', 7, 'a\0b']) {
      task = () => ({ taskId, status: 'working' });
      const result = resultIn(await run());
      expect(result).to.include({ is_error: true });
      expect(result.content).to.include('its task has').and.include('outcome is unknown');
      expect(result.content.length).to.be.lessThan(1000);
    }
    expect(asked).to.deep.equal([]);
  });
});

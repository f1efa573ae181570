import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import type { TestTask } from '../support/mcp-server.js';
import { expectSoonCancelled, useOps } from '../support/ops-server.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { fetchHistory, textOfHistory } from '../support/workflow-history.js';
import { useTemporalClient } from '../support/use.js';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** decisions.md "Tasks and elicitation", "Tasks", against a server of the MCP SDK. */
describe('a tool call that is a task', () => {
  const client = useTemporalClient();
  const started = new Map<string, (task: TestTask) => void>();

  const { mcp, service, registered, isCancelled } = useOps({
    tasks: true,
    tools: [{ name: 'build', pollInterval: 1000, task: (task) => started.get(String(task.arguments.what))?.(task) }],
  });

  /** A turn whose model calls the tool once. */
  const call = async (what: string): Promise<{ sessionId: string; turnId: string; task: Promise<TestTask> }> => {
    const begun = new Promise<TestTask>((resolve) => started.set(what, resolve));
    const uses = [toolUse('mcp__ops__build', { what }, { id: `toolu_${what}` })];
    service.model.on(new RegExp(what), steps(uses, 'Built.'));
    const sessionId = await service.session({ mcp_servers: [registered.id] });
    const turnId = await service.send(sessionId, what);
    const stored = eventually('the task is stored', async () => {
      const rows = await service.db.query<unknown[]>('SELECT FROM mcp_tasks WHERE turn_id = $1', [turnId]);
      return rows.length === 1;
    });
    return { sessionId, turnId, task: stored.then(() => begun) };
  };

  it('a tool call that is a task stores the result that the task ends with', async () => {
    const { sessionId, task } = await call('app');
    await (await task).end('completed', 'It works.');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    const events = await service.history(sessionId);
    expect(events.map(({ type }) => type as string)).to.deep.equal([
      'user.message',
      'agent.tool_use',
      'agent.tool_result',
      'agent.message',
      'turn.completed',
    ]);
    expect(events[2]).to.include({ tool_use_id: 'toolu_app', is_error: false, content: 'It works.' });
    expect(mcp.calls).to.have.length(1);
    expect(mcp.log.filter((method) => method === 'tasks/result')).to.have.length(1);
  });

  it('a tool call that is a task is found by operators while it waits, and the polls change nothing', async () => {
    const { sessionId, turnId, task } = await call('found');
    const { end } = await task;
    const found = async (): Promise<boolean> => {
      const turns = client.workflow.list({ query: `WaitsFor = 'task' AND WorkflowType = 'turn'` });
      for await (const { workflowId } of turns) if (workflowId === turnId) return true;
      return false;
    };
    await eventually('the turn is found', found);
    const polls = (): number => mcp.log.filter((method) => method === 'tasks/get').length;
    const before = polls();
    await eventually('the task is polled again', () => polls() > before + 1);
    await end('completed', 'Done.');
    await service.ended(sessionId);
    await eventually('the turn is found no more', async () => !(await found()));
    const { events } = await fetchHistory(client, turnId);
    const changes = events.flatMap(({ upsertWorkflowSearchAttributesEventAttributes: changed }) =>
      Object.keys(changed?.searchAttributes?.indexedFields ?? {}),
    );
    expect(changes.filter((key) => key === 'WaitsFor')).to.have.length(2);
  });

  const resultOf = async (sessionId: string) => {
    await service.ended(sessionId);
    return await service.resultOf(sessionId);
  };

  it('a tool call that is a task shows changes of status and message, at most one in 5 s', async () => {
    const { sessionId, task } = await call('progress');
    const { update, end } = await task;
    await update('working', 'Compiling');
    const progress = async () =>
      (await service.history(sessionId)).filter(({ type }) => type === 'agent.tool_progress');
    await eventually('the first progress', async () => (await progress()).length === 1);
    await update('working', 'Linking');
    await eventually('the second progress', async () => (await progress()).length === 2);
    await end('completed', 'Done.');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    const [first, second, ...more] = await progress();
    expect(more).to.deep.equal([]);
    expect(first).to.include({ tool_use_id: 'toolu_progress', status: 'working', message: 'Compiling' });
    expect(second).to.include({ status: 'working', message: 'Linking' });
    expect(Date.parse(second.created_at) - Date.parse(first.created_at)).to.be.at.least(5000);
  });

  const text = (said: string) => [{ type: 'text', text: said }];
  for (const [title, end, ...parts] of [
    [
      "an error result with the server's message if the task failed",
      (task) => task.end('failed', { isError: true, content: text('No space left.') }),
      ...['failed', 'No space left.'],
    ],
    [
      'an error result with the status message of a task that its server cancelled',
      (task) => task.update('cancelled', 'Somebody pulled the plug.'),
      ...['was cancelled', 'Somebody pulled the plug.'],
    ],
    [
      'the error result that the call would have had',
      (task) => task.end('completed', { isError: true, content: text('There is no such branch.') }),
      /^There is no such branch\.$/,
    ],
  ] as [string, (task: TestTask) => unknown, ...(string | RegExp)[]][]) {
    it(`a tool call that is a task has ${title}`, async () => {
      const { sessionId, task } = await call('failing');
      await end(await task);
      const result = await resultOf(sessionId);
      expect(result).to.include({ is_error: true });
      for (const part of parts) expect(result.content).to.match(typeof part === 'string' ? new RegExp(part) : part);
    });
  }

  it('a tool call that is a task is cancelled on its server when the turn is cancelled', async () => {
    const { sessionId, task } = await call('cancelled');
    const { id } = await task;
    await eventually('the first question', async () => mcp.log.includes('tasks/get'));
    expect(await service.cancel(sessionId)).to.include({ type: 'turn.cancelled' });
    await expectSoonCancelled(service, sessionId);
    await eventually('the task is cancelled', () => isCancelled(id));
    expect((await service.history(sessionId)).at(-1).timing.tools_ms).to.be.greaterThan(0);
  });

  it('a tool call that is a task is asked for again after its server was away, and not called again', async () => {
    const { sessionId, task } = await call('away');
    const { end } = await task;
    const calls = mcp.calls.length;
    let refused = 0;
    mcp.options.gateway = (_, res) => {
      refused += 1;
      res.writeHead(503).end();
      return true;
    };
    await eventually('some questions fail', async () => refused > 2);
    mcp.options.gateway = () => false;
    await end('completed', 'Back again.');
    expect(await resultOf(sessionId)).to.include({ is_error: false, content: 'Back again.' });
    expect(mcp.calls).to.have.length(calls);
  });

  it('a tool call that is a task has an error result when its server has forgotten it', async () => {
    const { sessionId, task } = await call('forgotten');
    await task;
    await mcp.restart();
    mcp.forgetTasks();
    const result = await resultOf(sessionId);
    expect(result).to.include({ is_error: true });
    expect(result.content).to.include('unknown to its server');
  });

  it('a tool call that is a task takes content of all kinds as any result', async () => {
    const { sessionId, task } = await call('image');
    const { end } = await task;
    await end('completed', {
      content: [
        { type: 'text', text: 'A picture:' },
        { type: 'image', data: PNG, mimeType: 'image/png' },
        { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
        { type: 'resource', resource: { uri: 'file:///log.txt', text: 'It compiled.' } },
        { type: 'resource_link', uri: 'https://ci.example.com/41', name: 'build 41' },
      ],
      structuredContent: { width: 1 },
    });
    const result = await resultOf(sessionId);
    expect(result).to.include({ is_error: false });
    expect(result.content).to.include('A picture:').and.include('"width":1');
    expect(result.content).to.include('[audio (audio/wav)').and.include('[resource file:///log.txt]\nIt compiled.');
    expect(result.content).to.include('build 41 <https://ci.example.com/41>');
    const sent = JSON.stringify(service.model.requests.at(-1)!.body.messages);
    expect(sent).to.include('image/png');
  });

  it('a tool call that is a task does not count against the time of the turn', async () => {
    const { sessionId, task } = await call('slow');
    const { end } = await task;
    const earlier: [string, string][] = [
      ['turns', 'started_at'],
      ['tool_calls', 'started_at'],
      ['mcp_tasks', 'created_at'],
    ];
    for (const [table, column] of earlier) {
      await service.db.query(
        `UPDATE ${table} SET ${column} = ${column} - interval '2 hours'
         WHERE ${table === 'turns' ? 'id' : 'turn_id'} = (SELECT last_turn_id FROM sessions WHERE id = $1)`,
        [sessionId],
      );
    }
    await end('completed', 'At last.');
    const ended = await service.ended(sessionId);
    expect(ended).to.include({ type: 'turn.completed' });
    expect(ended.timing.tools_ms).to.be.at.least(7_200_000);
    expect(ended.timing.waiting_ms).to.equal(null);
  });

  it('a tool call that is a task keeps neither its id nor its messages in Temporal', async () => {
    const { sessionId, turnId, task } = await call('secret');
    const { id, update, end } = await task;
    await update('working', 'zebra-message');
    await eventually('progress', async () =>
      (await service.history(sessionId)).some(({ type }) => type === 'agent.tool_progress'),
    );
    const { raw } = await client.workflow.getHandle(turnId).describe();
    const [pending] = raw.pendingActivities!;
    expect(pending!.activityType!.name).to.equal('pollTasks');
    expect(pending!.lastFailure!.message).to.equal('The task is open.');
    await end('completed', 'Done.');
    await service.ended(sessionId);
    const text = textOfHistory(await fetchHistory(client, turnId));
    expect(text).to.not.include(id).and.not.include('zebra-message');
    expect(text).to.include('tasks of mcp__ops__build');
  });
});

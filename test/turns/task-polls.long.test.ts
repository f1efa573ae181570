import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import type { McpServerOptions, TestTask } from '../support/mcp-server.js';
import { useOps } from '../support/ops-server.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { useTemporalClient } from '../support/use.js';

/** decisions.md "Tasks and elicitation": how the tasks of a turn are polled beside each other. */
describe('the polls of several tasks', () => {
  const temporal = useTemporalClient();
  let tasks = new Map<unknown, TestTask>();
  let polled: string[] = [];
  /** A result is given when this is settled. */
  let onRead: (id: string) => unknown = () => undefined;
  const gateway: McpServerOptions['gateway'] = async (_, __, body) => {
    const { method, params } = JSON.parse(body || '{}') as { method?: string; params?: { taskId: string } };
    if (method === 'tasks/get') polled.push(params!.taskId);
    if (method === 'tasks/result') await onRead(params!.taskId);
    return false;
  };
  const { service, registered } = useOps({
    tasks: true,
    tools: [{ name: 'build', pollInterval: 1000, task: (task) => tasks.set(task.arguments.what, task) }],
    gateway,
  });
  beforeEach(() => {
    tasks = new Map();
    polled = [];
    onRead = () => undefined;
  });

  const start = async (...whats: string[]): Promise<{ sessionId: string; turnId: string }> => {
    const calls = whats.map((what) => toolUse('mcp__ops__build', { what }, { id: `toolu_${what}` }));
    service.model.on(/Go/, steps(calls, 'Done.'));
    const sessionId = await service.session({ mcp_servers: [registered.id] });
    return { sessionId, turnId: await service.send(sessionId, 'Go') };
  };
  const pending = async (turnId: string) =>
    (await temporal.workflow.getHandle(turnId).describe()).raw.pendingActivities ?? [];
  const isPolled = (what: string, times: number): boolean =>
    polled.filter((id) => id === tasks.get(what)?.id).length >= times;
  const results = async (sessionId: string): Promise<string[]> =>
    (await service.history(sessionId))
      .filter(({ type }) => type === 'agent.tool_result')
      .map(({ content }) => content as string);

  it('the polls of several tasks are made by one activity, and a task that ends leaves it', async () => {
    const { sessionId, turnId } = await start('a', 'b', 'c');
    await eventually('each is polled twice', () => ['a', 'b', 'c'].every((what) => isPolled(what, 2)));
    const activities = await pending(turnId);
    expect(activities.map(({ activityType }) => activityType!.name)).to.deep.equal(['pollTasks']);
    await tasks.get('b')!.end('completed', 'Built b.');
    await eventually('its result', async () => (await results(sessionId)).includes('Built b.'));
    polled = [];
    await eventually('the others are polled', () => isPolled('a', 1) && isPolled('c', 1));
    expect(isPolled('b', 1)).to.equal(false);
    await tasks.get('a')!.end('completed', 'Built a.');
    await tasks.get('c')!.end('completed', 'Built c.');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect((await results(sessionId)).sort()).to.deep.equal(['Built a.', 'Built b.', 'Built c.']);
  });

  it('the polls of several tasks and their results do not wait for a result that its server holds back', async () => {
    const { sessionId } = await start('slow', 'quick', 'late');
    await eventually('each is polled', () => ['slow', 'quick', 'late'].every((what) => isPolled(what, 1)));
    const release = service.model.gate();
    onRead = (id) => id === tasks.get('slow')!.id && release.opened;
    await tasks.get('slow')!.end('completed', 'Built slow.');
    await tasks.get('quick')!.end('completed', 'Built quick.');
    await eventually('the result of the quick one', async () => (await results(sessionId)).includes('Built quick.'));
    await tasks.get('late')!.end('completed', 'Built late.');
    await eventually('the result of the late one', async () => (await results(sessionId)).includes('Built late.'));
    expect(await results(sessionId)).to.have.length(2);
    release.open();
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect(await results(sessionId)).to.include('Built slow.');
  });

  it('the polls of several tasks read a result alone, and last, that a worker was lost to', async () => {
    const whats = ['poison', 'lost', 'clean', 'another'];
    const { sessionId, turnId } = await start(...whats);
    await eventually('each is polled', () => whats.every((what) => isPolled(what, 1)));
    const losses = `UPDATE mcp_tasks SET lost_reads = $3 WHERE turn_id = $1 AND task_id = $2`;
    await service.db.query(losses, [turnId, tasks.get('poison')!.id, 2]);
    await service.db.query(losses, [turnId, tasks.get('lost')!.id, 1]);
    const before = new Map<string, string[]>();
    onRead = async (id) => before.set(id, (await results(sessionId)).sort());
    await Promise.all(whats.map((what) => tasks.get(what)!.end('completed', `Built ${what}.`)));
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect(before.get(tasks.get('lost')!.id)).to.deep.equal(['Built another.', 'Built clean.']);
    expect(before.get(tasks.get('poison')!.id)).to.deep.equal(['Built another.', 'Built clean.', 'Built lost.']);
    expect(await results(sessionId)).to.include('Built poison.');
    const rows = await service.db.query('SELECT DISTINCT lost_reads FROM mcp_tasks WHERE turn_id = $1 ORDER BY 1', [turnId]); // oxfmt-ignore
    expect(rows).to.deep.equal([{ lost_reads: 0 }, { lost_reads: 1 }, { lost_reads: 2 }]);
  });

  it('the polls of several tasks come less often while the project has many open tasks', async () => {
    const { sessionId, turnId } = await start('a');
    await eventually('the first poll', () => isPolled('a', 1));
    await service.db.query(
      `INSERT INTO tool_calls (turn_id, step, index, tool_use_id, name, input, holds_task)
       SELECT $1, 99, n, 'toolu_' || n, 'build', '{}', true FROM generate_series(1, 199) AS n`,
      [turnId],
    );
    await eventually('a pause of 10 s', async () => {
      const [activity] = await pending(turnId);
      const [last, next] = [activity?.lastAttemptCompleteTime, activity?.nextAttemptScheduleTime];
      const seconds = Number(next?.seconds ?? 0) - Number(last?.seconds ?? 0);
      return seconds >= 9 && seconds <= 12;
    });
    expect(await service.cancel(sessionId)).to.include({ type: 'turn.cancelled' });
  });
});

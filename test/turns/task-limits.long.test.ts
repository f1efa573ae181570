import { expect } from 'chai';
import { reserveTask } from '../../src/tasks/open.js';
import { eventually } from '../support/eventually.js';
import type { TestTask } from '../support/mcp-server.js';
import { useOps } from '../support/ops-server.js';
import { toolUse } from '../support/scripted-model.js';

const MAX_OF_TURN = 50;
const MAX_OF_PROJECT = 500;

/** decisions.md "Tasks and elicitation": how many tasks may be open. */
describe('open tasks', () => {
  let tasks: TestTask[] = [];
  const { mcp, service, registered } = useOps({
    tasks: true,
    tools: [{ name: 'build', pollInterval: 1000, task: (task) => tasks.push(task) }],
  });
  beforeEach(() => {
    tasks = [];
    mcp.calls.length = 0;
  });

  /** A turn that calls the tool in its first steps. */
  const start = async (message: string, calls: number): Promise<{ sessionId: string; turnId: string }> => {
    service.model.on(new RegExp(message), ({ step }) => (step < calls ? [toolUse('mcp__ops__build', {})] : 'Done.'));
    const sessionId = await service.session({ mcp_servers: [registered.id] });
    return { sessionId, turnId: await service.send(sessionId, message) };
  };
  const begun = () => eventually('the task is begun', () => tasks.length === 1);
  const endTask = () => tasks.shift()!.end('completed', 'Built.');
  const results = async (sessionId: string): Promise<{ is_error: boolean; content: string }[]> =>
    (await service.history(sessionId)).filter(({ type }) => type === 'agent.tool_result');
  const cancel = async (sessionId: string): Promise<void> => {
    expect(await service.cancel(sessionId)).to.include({ type: 'turn.cancelled' });
  };

  /** A turn that waits for a task, and counts as if it had more. */
  const startWith = async (more: number): Promise<{ sessionId: string; turnId: string }> => {
    const turn = await start('Fill', 2);
    await begun();
    await service.db.query(
      `INSERT INTO tool_calls (turn_id, step, index, tool_use_id, name, input, holds_task)
       SELECT $1, 99, n, 'toolu_' || n, 'build', '{}', true FROM generate_series(1, $2::integer) AS n`,
      [turn.turnId, more],
    );
    return turn;
  };

  it('open tasks are 50 of a turn: a further call is not sent, and its result says so', async () => {
    const { sessionId, turnId } = await startWith(MAX_OF_TURN);
    await endTask();
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    const [built, refused] = await results(sessionId);
    expect(built).to.include({ is_error: false, content: 'Built.' });
    expect(refused).to.include({ is_error: true });
    expect(refused!.content).to.include('was not sent').and.include('50 calls of this turn');
    expect(mcp.calls).to.have.length(1);
    const counted = await service.db.query('SELECT FROM tool_calls WHERE turn_id = $1 AND holds_task AND step < 99', [
      turnId,
    ]);
    expect(counted, 'calls with a result').to.deep.equal([]);
  });

  it('open tasks are 500 of a project, over all its turns, until these end', async () => {
    const full = await startWith(MAX_OF_PROJECT - 1);
    const refused = await start('Refuse', 1);
    expect(await service.ended(refused.sessionId)).to.include({ type: 'turn.completed' });
    const [result] = await results(refused.sessionId);
    expect(result).to.include({ is_error: true });
    expect(result!.content).to.include('was not sent').and.include('500 calls of this project');
    expect(mcp.calls).to.have.length(1);
    await cancel(full.sessionId);
    tasks = [];
    const sent = await start('Send', 1);
    await begun();
    await endTask();
    await service.ended(sent.sessionId);
    expect((await results(sent.sessionId))[0]).to.include({ is_error: false, content: 'Built.' });
  });

  it('open tasks are counted by one process at a time', async () => {
    const { sessionId, turnId } = await startWith(MAX_OF_TURN - 2);
    const [{ project_id: projectId }] = await service.db.query<[{ project_id: string }]>(
      'SELECT project_id FROM turns WHERE id = $1',
      [turnId],
    );
    let reserved: ReturnType<typeof reserveTask>;
    // As another process does it, which takes the last place.
    await service.db.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`new task ${projectId}`]);
      reserved = reserveTask(service.db, projectId, { turnId, step: 99, index: 70 });
      await eventually('the reservation waits', async () => {
        const waiting = await service.db.query<unknown[]>(
          `SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
           WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()`,
        );
        return waiting.length === 1;
      });
      await tx.query(
        `INSERT INTO tool_calls (turn_id, step, index, tool_use_id, name, input, holds_task)
         VALUES ($1, 99, 60, 'toolu_60', 'build', '{}', true)`,
        [turnId],
      );
    });
    expect(await reserved!).to.equal('turn');
    await cancel(sessionId);
  });
});

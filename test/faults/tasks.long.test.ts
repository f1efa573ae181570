import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { ALL_KILLABLE, type Turn } from '../support/fault-system.js';
import type { Question, TestTask, TestToolCall } from '../support/mcp-server.js';
import { asVictim, type Victim } from '../support/random-killer.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { useFaultSystem } from '../support/use.js';
import { requiredActions } from '../support/waiting-turns.js';

const FORM: Question = {
  mode: 'form',
  message: 'Which branch?',
  requestedSchema: { type: 'object', properties: { branch: { type: 'string' } }, required: ['branch'] },
};
const AWAY_MS = 60_000;

/** A task is asked for and never called again, whatever dies (decisions.md "Tasks and elicitation"). */
describe('a task whose turn loses its processes', function () {
  this.timeout(240_000);
  const grace = { SHUTDOWN_GRACE_SECONDS: '60' };
  const system = useFaultSystem({ ...ALL_KILLABLE, apis: 1, workers: 1, env: grace });
  let serverId: string;
  let work: (task: TestTask) => unknown;
  let call: (call: TestToolCall) => unknown;
  before(async () => {
    Object.assign(system.mcp.options, {
      tasks: true,
      sharedTasks: true,
      tools: [
        { name: 'build', pollInterval: 1000, task: (task: TestTask) => work(task) },
        { name: 'deploy', run: (one: TestToolCall) => call(one) },
      ],
    });
    serverId = await system.registerMcp('ops');
  });
  afterEach(() => {
    system.model.reset();
    system.mcp.options.gateway = () => false;
    system.mcp.calls.length = 0;
  });

  const start = (tool = 'build'): Promise<Turn> => {
    system.model.on(/Go/, steps([toolUse(`mcp__ops__${tool}`, {}, { id: 'toolu_1' })], 'Done.'));
    const tools = [{ type: 'mcp_toolset', mcp_server_id: serverId, elicitation: true }];
    return system.begin('Go', { mcp_servers: [serverId], tools });
  };
  const begun = async (): Promise<{ turn: Turn; task: TestTask }> => {
    const created = new Promise<TestTask>((resolve) => (work = resolve));
    const turn = await start();
    const task = await created;
    await eventually('the task is stored', async () => {
      const rows = await system.db.query<unknown[]>('SELECT FROM mcp_tasks WHERE turn_id = $1', [turn.turnId]);
      return rows.length === 1;
    });
    return { turn, task };
  };
  const question = async ({ sessionId }: Turn): Promise<string> =>
    (await requiredActions({ api: system.insist }, sessionId))[0].elicitation_id as string;
  const answer = ({ sessionId }: Turn, elicitation_id: string) =>
    system.insist('POST', `/v1/sessions/${sessionId}/events`, {
      events: [{ type: 'user.elicitation_result', elicitation_id, action: 'accept', content: { branch: 'main' } }],
    });
  const expectOne = async (turn: Turn, content: string): Promise<void> => {
    await system.verify();
    expect(system.mcp.calls).to.have.length(1);
    await expectResult(turn, content);
  };
  const expectResult = async (turn: Turn, content: string): Promise<void> => {
    const events = await system.history(turn.sessionId);
    const results = events.filter(({ type }) => type === 'agent.tool_result');
    expect(results).to.have.length(1);
    expect(results[0]).to.include({ is_error: false, content });
    expect(events.at(-1)).to.include({ type: 'turn.completed' });
  };

  /** What dies, and how it comes up again. */
  const KILLS: [string, () => Promise<() => Promise<unknown>>][] = [
    ['the API', () => killed([system.apis[0]!])],
    ['the worker', () => killed([system.workers[0]!])],
    ['API and worker', () => killed([system.apis[0]!, system.workers[0]!])],
    ['Temporal', () => killed([asVictim(() => system.temporal!)])],
    ['Postgres', () => killed([asVictim(() => system.postgres!)])],
    ['the MCP server', () => killed([asVictim(() => system.mcp)])],
  ];
  const killed = async (victims: Victim[]): Promise<() => Promise<unknown>> => {
    await Promise.all(victims.map((one) => one.kill()));
    return () => Promise.all(victims.map((one) => one.start()));
  };

  for (const [name, kill] of KILLS) {
    it(`a task whose turn loses its processes survives kill -9 of ${name}, while it works, asks, or has just finished`, async () => {
      const works = await begun();
      const finishes = await begun();
      const asks = await begun();
      await asks.task.update('input_required');
      const answered = asks.task.ask(FORM);
      answered.catch(() => undefined);
      const id = await question(asks.turn);

      let start = (_: () => Promise<unknown>): void => undefined;
      const dead = new Promise<() => Promise<unknown>>((resolve) => (start = resolve));
      let isOver = false;
      system.mcp.options.gateway = async (_, res, body) => {
        if (isOver || !body.includes('tasks/result') || !body.includes(finishes.task.id)) return false;
        isOver = true;
        start(await kill());
        return res.socket === null || res.socket.destroyed;
      };
      await finishes.task.end('completed', 'Just finished.');
      const revive = await dead;
      // What lives takes the answer before the other is back.
      const [{ status }] = await Promise.all([answer(asks.turn, id), revive()]);
      expect(status).to.equal(201);
      await works.task.end('completed', 'Built.');
      // A server that was killed has forgotten its question.
      const branch = name === 'the MCP server' ? 'without an answer' : String((await answered).content!.branch);
      await asks.task.update('working');
      await asks.task.end('completed', `Built ${branch}.`);
      await system.verify();
      expect(system.mcp.calls).to.have.length(3);
      await expectResult(works.turn, 'Built.');
      await expectResult(finishes.turn, 'Just finished.');
      await expectResult(asks.turn, `Built ${branch}.`);
    });
  }

  it('a task whose turn loses its processes survives kill -9 of every process while it works', async () => {
    const { turn, task } = await begun();
    await system.killEverything();
    await task.end('completed', 'Built.');
    await expectOne(turn, 'Built.');
  });

  it('a task whose turn loses its processes survives a server that is away for a minute', async () => {
    const { turn, task } = await begun();
    system.mcp.options.gateway = (_, res) => {
      res.writeHead(503).end();
      return true;
    };
    await new Promise((resolve) => setTimeout(resolve, AWAY_MS));
    system.mcp.options.gateway = () => false;
    await task.end('completed', 'Back.');
    await expectOne(turn, 'Back.');
  });

  it('a task whose turn loses its processes leaves the outcome of a direct call unknown when its worker dies while it asks', async () => {
    call = ({ ask }) => ask(FORM).then(() => 'ok');
    const turn = await start('deploy');
    const id = await question(turn);
    await system.workers[0]!.kill();
    await system.workers[0]!.start();
    await system.verify();
    expect(system.mcp.calls).to.have.length(1);
    const events = await system.history(turn.sessionId);
    const [result] = events.filter(({ type }) => type === 'agent.tool_result');
    expect(result).to.include({ is_error: true });
    expect(result!.content).to.include('unknown');
    const { status, body } = await answer(turn, id);
    expect([status, body.error.details.state]).to.deep.equal([409, 'lost']);
  });

  it('a task whose turn loses its processes lets its worker be replaced when the question of a direct call is answered', async () => {
    call = ({ ask }) => ask(FORM).then(({ content }) => `Deployed ${String(content!.branch)}.`);
    const turn = await start('deploy');
    const id = await question(turn);
    const [worker] = system.workers as [(typeof system.workers)[0]];
    const stopped = worker.stop();
    await eventually('the worker drains', async () => {
      const draining = await system.db.query<unknown[]>('SELECT FROM workers WHERE is_draining AND dead_at IS NULL');
      return draining.length === 1;
    });
    expect((await answer(turn, id)).status).to.equal(201);
    expect(await stopped).to.equal(0);
    await worker.start();
    await expectOne(turn, 'Deployed main.');
  });

  it('a task whose turn loses its processes is waited for 20 s at a time by a server that does not answer', async () => {
    const { turn, task } = await begun();
    const waits: number[] = [];
    system.mcp.options.gateway = (_, res, body) => {
      if (waits.length > 0 || !body.includes('tasks/get')) return false;
      const began = performance.now();
      waits.push(0);
      res.on('close', () => (waits[0] = performance.now() - began));
      return true;
    };
    await eventually('the poll is given up', async () => (waits[0] ?? 0) > 0, 40_000);
    expect(waits[0]).to.be.within(19_000, 30_000);
    await task.end('completed', 'Late.');
    await expectOne(turn, 'Late.');
  });

  it('a task whose turn loses its processes is cancelled for 30 s on a server that is away, and no longer', async () => {
    const { turn } = await begun();
    const attempts: number[] = [];
    system.mcp.options.gateway = (_, res, body) => {
      if (!body.includes('tasks/cancel')) return false;
      attempts.push(performance.now());
      res.writeHead(503).end();
      return true;
    };
    await system.insist('POST', `/v1/sessions/${turn.sessionId}/cancel`);
    await eventually(
      'the workflow has ended',
      async () => (await system.client.workflow.getHandle(turn.turnId).describe()).status.name !== 'RUNNING',
      60_000,
    );
    expect(attempts.length).to.be.within(5, 30);
    expect(attempts.at(-1)! - attempts[0]!).to.be.within(15_000, 30_500);
  });
});

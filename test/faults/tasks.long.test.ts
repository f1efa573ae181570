import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { startFaultSystem, type FaultSystem, type Turn } from '../support/fault-system.js';
import type { Question, TestTask, TestToolCall } from '../support/mcp-server.js';
import { steps, toolUse } from '../support/scripted-model.js';

const FORM: Question = {
  mode: 'form',
  message: 'Which branch?',
  requestedSchema: { type: 'object', properties: { branch: { type: 'string' } }, required: ['branch'] },
};
const AWAY_MS = 60_000;

/** A task is asked for and never called again, whatever dies (contract.md §11). */
describe('a task whose turn loses its processes', function () {
  this.timeout(240_000);
  let system: FaultSystem;
  let serverId: string;
  let work: (task: TestTask) => unknown;
  let call: (call: TestToolCall) => unknown;
  before(async () => {
    system = await startFaultSystem({ ownPostgres: true, ownTemporal: { persistent: true } });
    Object.assign(system.mcp.options, {
      tasks: true,
      tools: [
        { name: 'build', pollInterval: 1000, task: (task: TestTask) => work(task) },
        { name: 'deploy', run: (one: TestToolCall) => call(one) },
      ],
    });
    const { body } = await system.insist('POST', '/v1/mcp-servers', { name: 'ops', url: system.mcp.url });
    serverId = body.id as string;
  });
  after(() => system.close());
  afterEach(() => {
    system.model.reset();
    system.mcp.options.gateway = () => false;
    system.mcp.calls.length = 0;
  });

  const start = async (tool = 'build'): Promise<Turn> => {
    system.model.on(/Go/, steps([toolUse(`mcp__ops__${tool}`, {}, { id: 'toolu_1' })], 'Done.'));
    const sessionId = await system.session({
      mcp_servers: [serverId],
      tools: [{ type: 'mcp_toolset', mcp_server_id: serverId, elicitation: true }],
    });
    const turn = await system.send(sessionId, 'Go');
    void system.watch(turn);
    return turn;
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
  const question = async ({ sessionId }: Turn): Promise<string> => {
    let id = '';
    await eventually('a question', async () => {
      const { body } = await system.insist('GET', `/v1/sessions/${sessionId}`);
      id = body.required_actions[0]?.elicitation_id ?? '';
      return id !== '';
    });
    return id;
  };
  const answer = ({ sessionId }: Turn, elicitation_id: string) =>
    system.insist('POST', `/v1/sessions/${sessionId}/events`, {
      events: [{ type: 'user.elicitation_result', elicitation_id, action: 'accept', content: { branch: 'main' } }],
    });
  const expectOne = async (turn: Turn, content: string): Promise<void> => {
    await system.verify();
    expect(system.mcp.calls).to.have.length(1);
    const events = await system.history(turn.sessionId);
    const results = events.filter(({ type }) => type === 'agent.tool_result');
    expect(results).to.have.length(1);
    expect(results[0]).to.include({ is_error: false, content });
    expect(events.at(-1)).to.include({ type: 'turn.completed' });
  };

  it('survives kill -9 of every process while it works', async () => {
    const { turn, task } = await begun();
    await system.killEverything();
    await task.end('completed', 'Built.');
    await expectOne(turn, 'Built.');
  });

  it('survives kill -9 of the worker that fetches its result', async () => {
    const { turn, task } = await begun();
    let kills = 0;
    system.mcp.options.gateway = async (_, res, body) => {
      if (!body.includes('tasks/result') || kills > 0) return false;
      kills += 1;
      await system.workers[0]!.kill();
      res.destroy();
      void system.workers[0]!.start();
      return true;
    };
    await task.end('completed', 'Just finished.');
    await expectOne(turn, 'Just finished.');
    expect(kills).to.equal(1);
  });

  it('survives kill -9 of the worker while it asks', async () => {
    work = async ({ update, ask, end }) => {
      await update('input_required');
      const { content } = await ask(FORM);
      await update('working');
      await end('completed', `Built ${String(content!.branch)}.`);
    };
    const turn = await start();
    const id = await question(turn);
    await system.workers[0]!.kill();
    expect((await answer(turn, id)).status).to.equal(201);
    await system.workers[0]!.start();
    await expectOne(turn, 'Built main.');
  });

  it('survives a server that is away for a minute', async () => {
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

  it('leaves the outcome of a direct call unknown when its worker dies while it asks', async () => {
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
});

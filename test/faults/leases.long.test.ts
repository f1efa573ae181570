import { expect } from 'chai';
import pg from 'pg';
import { createTurnWorkflows } from '../../src/temporal/turn-workflows.js';
import { eventually } from '../support/eventually.js';
import type { Turn } from '../support/fault-system.js';
import type { RoleProcess } from '../support/role-process.js';
import { steps, text, toolUse, wait } from '../support/scripted-model.js';
import { useFaultSystem } from '../support/use.js';

/** Well below the heartbeat timeout of 90 s, which would bring a takeover about too. */
const MAX_TAKEOVER_MS = 45_000;
/** Longer than a lease. */
const BLOCK_MS = 6_000;
const POOL_BUSY_MS = 10_000;

interface WorkerRow {
  id: string;
  lives: boolean;
}

/** Who is alive is decided by the leases alone. An API process leads, so that it can declare any worker dead. */
describe('the lease of a worker', function () {
  this.timeout(180_000);
  let serverId: string;
  let held: (() => void)[] = [];
  const system = useFaultSystem({ workers: 0 });
  before(async () => {
    const { mcp } = system;
    // Each call waits until the test opens it.
    mcp.options.tools = [{ name: 'hold', run: () => new Promise((resolve) => held.push(() => resolve('held'))) }];
    serverId = await system.registerMcp('tools');
  });
  afterEach(async () => {
    await Promise.all(system.workers.splice(0).map((worker) => worker.kill()));
    system.model.reset();
    system.mcp.calls.length = 0;
    held = [];
  });

  const addWorker = async (env: Record<string, string> = {}): Promise<RoleProcess> => {
    const worker = await system.addRole('worker', env);
    await eventually('the worker has its lease', async () => (await rowsOf(worker)).some(({ lives }) => lives));
    return worker;
  };
  const rowsOf = ({ pid }: RoleProcess): Promise<WorkerRow[]> =>
    system.db.query(
      `SELECT id, until > clock_timestamp() AND dead_at IS NULL AS lives FROM workers WHERE starts_with(id, $1)`,
      [`${pid}@`],
    );
  /** A turn whose model call has begun; it ends when the gate opens. */
  const streaming = async (content: string): Promise<{ turn: Turn; open: () => void }> => {
    const gate = system.model.gate();
    system.model.on(new RegExp(content), text('cut off', { before: { 0: wait(gate) } }), text('taken over'));
    const turn = await system.begin(content);
    await gate.reached;
    return { turn, open: () => gate.open() };
  };
  /** A turn with that many calls under way. */
  const holding = async (content: string, calls: number): Promise<Turn> => {
    const uses = Array.from({ length: calls }, () => toolUse('mcp__tools__hold'));
    system.model.on(new RegExp(content), steps(uses, 'Done.'));
    const turn = await system.send(await system.session({ mcp_servers: [serverId] }), content);
    await eventually('the calls have arrived', () => held.length === calls);
    return turn;
  };
  const metric = async ({ url }: RoleProcess, name: string): Promise<number> => {
    const lines = (await (await fetch(`${url}/metrics`)).text()).split('\n');
    return Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length) ?? 0);
  };
  /** The answer of an API's `/readyz` about the workers. */
  const workerState = async (): Promise<unknown> =>
    ((await (await fetch(`${system.apis[0]!.url}/readyz`)).json()) as Record<string, unknown>).worker;
  /** Asserts that the worker never loses its lease while `work` goes on. */
  const keepsLease = async (worker: RoleProcess, work: Promise<unknown>): Promise<void> => {
    const [before] = await rowsOf(worker);
    const over = work.then(() => true);
    while (!(await Promise.race([over, new Promise((resolve) => setTimeout(resolve, 100, false))]))) {
      expect(await rowsOf(worker)).to.deep.equal([{ id: before!.id, lives: true }]);
    }
  };

  it('the lease of a worker is kept while the main thread is blocked', async () => {
    const blocker = new URL('../support/block-on-signal.mjs', import.meta.url).href;
    const worker = await addWorker({ NODE_OPTIONS: `--import ${blocker}`, BLOCK_MS: String(BLOCK_MS) });
    await addWorker();
    const { turn, open } = await streaming('blocked');
    process.kill(worker.pid, 'SIGUSR2');
    await keepsLease(
      worker,
      eventually('it goes on', () => worker.log().includes('the main thread goes on')),
    );
    open();
    expect((await system.ended(turn)).type).to.equal('turn.completed');
    expect(system.model.requests.length).to.equal(1);
  });

  it('the lease of a worker is kept while no connection of the pool is free', async () => {
    const worker = await addWorker({ DATABASE_POOL_SIZE: '2' });
    const locker = new pg.Client({ connectionString: worker.env.DATABASE_URL });
    await locker.connect();
    await locker.query('BEGIN');
    // Model calls are registered in this table: each turn waits with a connection of the pool.
    await locker.query('LOCK TABLE model_calls IN ACCESS EXCLUSIVE MODE');
    const turns = await Promise.all(
      Array.from({ length: 6 }, async (_, n) => system.send(await system.session(), `crowded ${n}`)),
    );
    await eventually('requests wait for a connection', async () => {
      return (await metric(worker, 'db_pool_connections{state="waiting"}')) > 0;
    });
    await keepsLease(worker, new Promise((resolve) => setTimeout(resolve, POOL_BUSY_MS)));
    await locker.query('COMMIT');
    await locker.end();
    for (const turn of turns) expect((await system.ended(turn)).type).to.equal('turn.completed');
    expect(system.model.requests.length).to.equal(turns.length);
  });

  it('the lease of a worker is lost by a worker that froze: it exits at once, says why, and works again when it is started', async () => {
    const frozen = await addWorker();
    const { turn, open } = await streaming('frozen');
    const other = await addWorker();
    frozen.freeze();
    await eventually('it is declared dead', async () => (await rowsOf(frozen)).every(({ lives }) => !lives));
    await eventually('it is taken over', async () => (await rowsOf(frozen)).length === 0);
    frozen.thaw();
    expect(await frozen.exited()).to.equal(1);
    expect(frozen.log()).to.match(/"message":"this process exits, to be started again: .* lost its lease/);
    await eventually('its model call is aborted', () => system.model.requests[0]!.abortedAt !== null);
    await frozen.start();
    await eventually('it has a lease again', async () => {
      const rows = await rowsOf(frozen);
      return rows.length === 1 && rows[0]!.lives;
    });
    expect((await system.ended(turn)).type).to.equal('turn.completed');
    expect(system.model.requests.length).to.equal(2);
    const history = await system.history(turn.sessionId);
    expect(history.map(({ type }) => type as string)).to.deep.equal([
      'user.message',
      'agent.message',
      'turn.completed',
    ]);
    open();
    await other.kill();
    const next = await system.send(await system.session(), 'hello again');
    expect((await system.ended(next)).type).to.equal('turn.completed');
  });

  it('the lease of a worker shows within seconds that the last worker was killed, and at once that it drains', async () => {
    const worker = await addWorker();
    await eventually('it shows', async () => (await workerState()) === 'ok');
    await worker.kill();
    await eventually('its end shows', async () => (await workerState()) === 'away', 20_000);

    const draining = await addWorker({ SHUTDOWN_GRACE_SECONDS: '30' });
    const { turn, open } = await streaming('drained');
    await eventually('it shows', async () => (await workerState()) === 'ok');
    const stopped = draining.stop();
    await eventually('its drain shows', async () => (await workerState()) === 'away', 20_000);
    open();
    await stopped;
    expect((await system.ended(turn)).type).to.equal('turn.completed');
  });

  it('the lease of a worker once lost, gives all recorded activities to other workers, also if one of them is over', async () => {
    const worker = await addWorker();
    const turn = await holding('three at once', 3);
    const tokens = await tokensOf(turn);
    // The server has a completion of the first one; the worker dies before the answer arrives.
    await worker.kill();
    expect(await workflows().failActivity(tokens[0]!)).to.equal(true);
    await addWorker();
    const killed = performance.now();
    expect((await system.ended(turn)).type).to.equal('turn.completed');
    expect(performance.now() - killed).to.be.below(MAX_TAKEOVER_MS);
    expect(system.mcp.calls.length).to.equal(3);
  });

  it('the lease of a worker once lost, gives away an activity that was not recorded', async () => {
    const { mcp } = system;
    let hang = true;
    let arrived = 0;
    mcp.options.gateway = () => {
      arrived += 1;
      return hang && new Promise(() => undefined);
    };
    const worker = await addWorker();
    const turn = await system.send(await system.session({ mcp_servers: [serverId] }), 'connects');
    await eventually('it connects', () => arrived > 0);
    const killed = performance.now();
    await worker.kill();
    hang = false;
    await addWorker();
    expect((await system.ended(turn)).type).to.equal('turn.completed');
    expect(performance.now() - killed).to.be.below(MAX_TAKEOVER_MS);
    delete mcp.options.gateway;
  });

  it('the lease of a worker once lost, takes nothing from a later attempt of the same activity', async () => {
    const worker = await addWorker();
    const [first, second] = [system.model.gate(), system.model.gate()];
    const gated = (gate: typeof first) => text('answer', { before: { 0: wait(gate) } });
    system.model.on(/again/, gated(first), gated(second));
    const turn = await system.send(await system.session(), 'again');
    await first.reached;
    const [token] = await tokensOf(turn);
    await addWorker();
    await worker.kill();
    await second.reached;
    expect(await workflows().failActivity(token!)).to.equal(false);
    second.open();
    expect((await system.ended(turn)).type).to.equal('turn.completed');
    expect(system.model.requests.length).to.equal(2);
  });

  it('the lease of a worker once lost, leaves a model call that nobody answered in the count, without tokens and without an estimate', async () => {
    const worker = await addWorker();
    let arrive!: () => void;
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    system.model.on(/unanswered/, (_, index) => {
      if (index > 0) return 'answer';
      arrive();
      return new Promise(() => undefined);
    });
    const turn = await system.send(await system.session(), 'unanswered');
    await arrived;
    await worker.kill();
    await addWorker();
    const { usage_details } = await system.ended(turn);
    expect(usage_details).to.include({ model_calls: 2 }).and.not.have.property('estimated');
    const { body } = await system.insist('GET', `/v1/sessions/${turn.sessionId}/turns/${turn.turnId}/timeline`);
    const calls = (body.items as { type: string; status: string; usage?: object }[]).filter(
      ({ type }) => type === 'model_call',
    );
    expect(calls.map(({ status, usage }) => [status, usage !== undefined])).to.deep.equal([
      ['failed', false],
      ['ok', true],
    ]);
  });

  const tokensOf = async ({ turnId }: Turn): Promise<Buffer[]> => {
    const rows = await system.db.query<{ task_token: Buffer }[]>(
      `SELECT task_token FROM tool_calls WHERE turn_id = $1 UNION ALL
       SELECT task_token FROM model_calls WHERE turn_id = $1 AND ended_at IS NULL`,
      [turnId],
    );
    return rows.map(({ task_token }) => task_token);
  };
  const workflows = () =>
    createTurnWorkflows(system.client, {
      taskQueue: system.apis[0]!.env.TASK_QUEUE!,
      executionTimeoutMs: () => 60_000,
      maxSteps: 10,
      turnTimeoutMs: 60_000,
      eager: false,
      searchable: () => false,
    });
});

import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import type { Turn } from '../support/fault-system.js';
import type { RoleProcess } from '../support/role-process.js';
import { text, wait, type Gate } from '../support/scripted-model.js';
import { useFaultSystem } from '../support/use.js';
import { workflowCompleted } from '../support/turn-workflow.js';

interface Call {
  worker_id: string;
  joined_by: string | null;
  has_token: boolean;
}

/**
 * The worker that makes the first call of a turn, and the one whose activity waits for it, die at each moment: one answer, one
 * terminal event, at most one call more.
 */
describe('a first step that runs ahead, and what dies around it', () => {
  const system = useFaultSystem({ workers: 2, proxies: true, env: { LOG_LEVEL: 'info' } });
  beforeEach(async () => {
    system.model.reset();
    // A worker answers, and has its lease, before it works.
    await eventually('both workers work', () =>
      system.workers.every((worker) => startsOf(worker) > (lives.get(worker) ?? 0)),
    );
  });

  /** Ends a worker for the rest of the test. */
  const kill = async (worker: RoleProcess): Promise<void> => {
    await worker.kill();
    lives.set(worker, startsOf(worker));
    killed.push(worker);
  };
  const killed: RoleProcess[] = [];
  /** How often a worker had started when it was killed last. */
  const lives = new Map<RoleProcess, number>();
  const startsOf = (worker: RoleProcess): number => worker.log().split('worker started').length - 1;
  afterEach(async () => {
    for (const worker of killed.splice(0)) await worker.start();
  });

  const firstCall = async ({ turnId }: Turn): Promise<Call | undefined> => {
    const [call] = await system.db.query<Call[]>(
      'SELECT worker_id, joined_by, task_token IS NOT NULL AS has_token FROM model_attempts WHERE turn_id = $1 ORDER BY attempt LIMIT 1',
      [turnId],
    );
    return call;
  };
  const begin = async (): Promise<{ turn: Turn; gate: Gate }> => {
    const gate = system.model.gate();
    system.model.script((_, index) =>
      index === 0 ? text('one two', { every: 0, before: { 1: wait(gate) } }) : 'one two',
    );
    const turn = await system.send(await system.session(), 'Go');
    void system.watch(turn);
    await eventually('its model call', () => system.model.requests.length > 0);
    await gate.reached;
    return { turn, gate };
  };
  /** A turn whose call runs ahead on one worker while the activity of the other one waits for it. */
  const beginApart = async (): Promise<{ turn: Turn; gate: Gate; call: Call }> => {
    for (let n = 0; n < 30; n += 1) {
      const { turn, gate } = await begin();
      await eventually('an activity has the call', async () => (await firstCall(turn))?.has_token === true);
      const call = (await firstCall(turn))!;
      if (call.joined_by !== null && call.worker_id !== call.joined_by) return { turn, gate, call };
      gate.open();
      await system.ended(turn);
      system.model.reset();
    }
    throw new Error('no turn was joined elsewhere');
  };
  const judge = async (turn: Turn, calls: number): Promise<void> => {
    await system.verify();
    expect((await system.ended(turn)).type).to.equal('turn.completed');
    const types = (await system.history(turn.sessionId)).map(({ type }) => type);
    expect(types).to.deep.equal(['user.message', 'agent.message', 'turn.completed']);
    expect(system.model.requests.length).to.be.at.most(calls);
  };

  it('the worker, before the workflow exists', async () => {
    const { temporal } = system.proxies!;
    temporal.retarget({ host: '127.0.0.1', port: 1 });
    temporal.cut();
    const { turn } = await begin();
    await kill(system.workerOf((await firstCall(turn))!.worker_id));
    const [host, port] = process.env.TEST_TEMPORAL_ADDRESS!.split(':') as [string, string];
    temporal.retarget({ host, port: Number(port) });
    await judge(turn, 2);
  });

  it('the worker that makes the call, while another one waits for it', async () => {
    const { turn, call } = await beginApart();
    await kill(system.workerOf(call.worker_id));
    await judge(turn, 2);
  });

  it('the worker that waits for the call', async () => {
    const { turn, gate, call } = await beginApart();
    await kill(system.workerOf(call.joined_by!));
    gate.open();
    await judge(turn, 1);
  });

  it('both workers', async () => {
    const { turn } = await beginApart();
    await Promise.all(system.workers.map(kill));
    await killed.shift()!.start();
    await judge(turn, 2);
  });

  it('every worker, right after the end', async () => {
    const { turn, gate } = await begin();
    gate.open();
    await system.ended(turn);
    await Promise.all(system.workers.map(kill));
    await killed.shift()!.start();
    await judge(turn, 1);
    // The turn has ended, so nothing takes its activity over: Temporal misses its heartbeats.
    await workflowCompleted(system.client, turn.turnId, 240_000);
  }).timeout(300_000);

  it('a worker that seems to: it freezes, another one makes the call, and it comes back with its answer', async () => {
    const { turn, gate, call } = await beginApart();
    const frozen = system.workerOf(call.worker_id);
    frozen.freeze();
    await system.ended(turn);
    // The turn may have ended while its lease had run out and could still be renewed.
    await eventually('it is declared dead', async () => {
      const alive = 'SELECT FROM workers WHERE id = $1 AND dead_at IS NULL';
      return (await system.db.query<unknown[]>(alive, [call.worker_id])).length === 0;
    });
    gate.open();
    frozen.thaw();
    await eventually('it has noticed', () => /lost its lease/.test(frozen.log()));
    await judge(turn, 2);
    const [{ steps }] = await system.db.query<[{ steps: number }]>(
      'SELECT count(*)::integer AS steps FROM model_steps WHERE turn_id = $1',
      [turn.turnId],
    );
    expect(steps).to.equal(1);
  });
});

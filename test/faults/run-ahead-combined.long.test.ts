import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { startFaultSystem, type FaultSystem, type Turn } from '../support/fault-system.js';
import { holdStatement, type HeldStatement } from '../support/held-statement.js';
import type { RoleProcess } from '../support/role-process.js';
import { text, wait, type Gate } from '../support/scripted-model.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { describeTurn, findWorkflow } from '../support/turn-workflow.js';

/**
 * API and worker in one process: it accepts a message, makes the first call ahead of Temporal, starts the workflow and runs its
 * activity. It dies at each moment: the message is not lost, there is one answer, and Temporal has its workflow.
 */
describe('a first step that runs ahead in the process that accepted the message', () => {
  let system: FaultSystem;
  before(async () => {
    system = await startFaultSystem({ services: 1, proxies: true, env: { LOG_LEVEL: 'info' } });
  });
  after(() => system.close());

  let gate: Gate;
  let held: HeldStatement | null;
  beforeEach(() => {
    system.model.reset();
    held = null;
    gate = system.model.gate();
    system.model.script((_, index) =>
      index === 0 ? text('one two', { every: 0, before: { 1: wait(gate) } }) : 'one two',
    );
  });

  const cutTemporal = (): void => {
    system.proxies!.temporal.retarget({ host: '127.0.0.1', port: 1 });
    system.proxies!.temporal.cut();
  };
  const restoreTemporal = (): void => {
    const [host, port] = process.env.TEST_TEMPORAL_ADDRESS!.split(':') as [string, string];
    system.proxies!.temporal.retarget({ host, port: Number(port) });
  };
  const letGo = async (): Promise<void> => {
    restoreTemporal();
    await held?.release();
    held = null;
  };
  afterEach(letGo);
  const send = async (): Promise<Turn> => {
    const turn = await system.send(await system.session(), 'Go');
    void system.watch(turn);
    return turn;
  };
  const existsInTemporal = ({ turnId }: Turn): Promise<unknown> => describeTurn(system.client, turnId);
  const callsOf = ({ turnId }: Turn): Promise<{ worker_id: string; ran_ahead: boolean }[]> =>
    system.db.query(
      `SELECT worker_id, task_token IS NULL OR joined_by IS NOT NULL AS ran_ahead FROM model_attempts
       WHERE turn_id = $1 ORDER BY position, attempt`,
      [turnId],
    );

  const judge = async (turn: Turn, calls: number, { hasWorkflow } = { hasWorkflow: true }): Promise<void> => {
    gate.open();
    await system.verify();
    const history = await system.history(turn.sessionId);
    expect(history.map(({ type }) => type)).to.deep.equal(['user.message', 'agent.message', 'turn.completed']);
    expect(history[1].content).to.equal('one two');
    expect(system.model.requests, 'model calls').to.have.length(calls);
    const steps = await system.db.query<unknown[]>('SELECT FROM model_steps WHERE turn_id = $1', [turn.turnId]);
    expect(steps).to.have.length(1);
    if (hasWorkflow) await existsInTemporal(turn);
  };

  /** What the process that was killed had sent to Postgres last. */
  const FATES = { lost: 'lost', 'carried out': 'carried out all the same' } as const;
  type Fate = keyof typeof FATES;
  const killService = async (fate: Fate | null = null): Promise<void> => {
    const [service] = system.workers;
    await service!.kill();
    if (fate === 'lost') await held!.lose();
    await letGo();
    await service!.start();
  };
  const fates = Object.entries(FATES) as [Fate, string][];

  for (const [fate, words] of fates) {
    it(`dies before its workflow exists, as the call is recorded, and the record is ${words}`, async () => {
      held = await holdStatement(system.db, 'INSERT ON model_attempts');
      cutTemporal();
      const turn = await send();
      await held.reached();
      expect(await findWorkflow(system.client, turn.turnId)).to.equal(null);
      await killService(fate);
      await judge(turn, 1);
    });
  }

  it('dies as the call is recorded, when its workflow exists', async () => {
    held = await holdStatement(system.db, 'INSERT ON model_attempts');
    const turn = await send();
    await Promise.all([held.reached(), existsInTemporal(turn)]);
    await killService('lost');
    await judge(turn, 1);
  });

  it('dies before its workflow exists, while the call runs', async () => {
    cutTemporal();
    const turn = await send();
    await gate.reached;
    expect(await findWorkflow(system.client, turn.turnId)).to.equal(null);
    await killService();
    await judge(turn, 2);
  });

  for (const [fate, words] of fates) {
    it(`dies as its activity joins the call, and the record of that is ${words}`, async () => {
      held = await holdStatement(system.db, 'UPDATE OF joined_by ON model_attempts');
      const turn = await send();
      await Promise.all([gate.reached, held.reached()]);
      await killService(fate);
      await judge(turn, 2);
    });

    it(`dies as the outcome is stored, and the outcome is ${words}`, async () => {
      held = await holdStatement(system.db, 'INSERT ON model_steps');
      const turn = await send();
      await Promise.all([gate.reached, existsInTemporal(turn)]);
      gate.open();
      await held.reached();
      await killService(fate);
      await judge(turn, fate === 'lost' ? 2 : 1);
    });
  }

  it('dies before its workflow exists, as the outcome is stored, and the outcome is lost', async () => {
    held = await holdStatement(system.db, 'INSERT ON model_steps');
    cutTemporal();
    const turn = await send();
    gate.open();
    await held.reached();
    expect(await findWorkflow(system.client, turn.turnId)).to.equal(null);
    await killService('lost');
    await judge(turn, 2);
  });

  it('dies right after the end', async () => {
    const turn = await send();
    gate.open();
    await system.ended(turn);
    expect((await callsOf(turn))[0]!.ran_ahead).to.equal(true);
    await killService();
    await judge(turn, 1);
  });

  it('dies right after the end, before its workflow exists', async () => {
    cutTemporal();
    const turn = await send();
    gate.open();
    await system.ended(turn);
    expect(await findWorkflow(system.client, turn.turnId)).to.equal(null);
    await killService();
    // Only its process knew that it has none (docs/operations/turns.md).
    await judge(turn, 1, { hasWorkflow: false });
  });

  describe('beside another one, with which it disagrees about who is alive', () => {
    /** Between the first one and Postgres. */
    let postgres: TcpProxy;
    let first: RoleProcess;
    let second: RoleProcess;
    before(async () => {
      const [service] = system.workers.splice(0);
      system.apis.splice(0);
      await service!.kill();
      const database = new URL(service!.env.DATABASE_URL!);
      postgres = await startTcpProxy({ host: database.hostname, port: Number(database.port) });
      database.port = String(postgres.port);
      first = await system.addRole('service', { DATABASE_URL: database.href });
      second = await system.addRole('service');
    });
    after(() => postgres.close());

    const callers = async (turn: Turn) => (await callsOf(turn)).map(({ worker_id }) => system.workerOf(worker_id));
    const leasesLost = (): number => first.log().split('lost its lease').length - 1;
    let lostBefore: number;
    beforeEach(() => (lostBefore = leasesLost()));
    const hasNoticed = (): Promise<void> => eventually('it has noticed', () => leasesLost() > lostBefore);
    /** A turn whose first call the first process makes, and which clients then no longer reach. */
    const begin = async (): Promise<Turn> => {
      system.apis.splice(0, 2, first);
      const turn = await system.send(await system.session(), 'Go');
      await Promise.all([gate.reached, existsInTemporal(turn)]);
      expect(await callers(turn)).to.deep.equal([first]);
      system.apis.splice(0, 1, second);
      void system.watch(turn);
      return turn;
    };

    it('it freezes, and comes back with its answer when the turn has ended', async () => {
      const turn = await begin();
      const { worker_id } = (await callsOf(turn))[0]!;
      first.freeze();
      await system.ended(turn);
      await eventually('it is declared dead', async () => {
        const alive = 'SELECT FROM workers WHERE id = $1 AND dead_at IS NULL';
        return (await system.db.query<unknown[]>(alive, [worker_id])).length === 0;
      });
      gate.open();
      first.thaw();
      await hasNoticed();
      await judge(turn, 2);
    });

    it('its lease runs out and it goes on: its answer comes to Postgres while the other one calls', async () => {
      await first.kill();
      await first.start();
      const answer = system.model.gate();
      system.model.script((_, index) =>
        text(index === 0 ? 'of the first' : 'one two', { every: 0, before: { 1: wait(index === 0 ? gate : answer) } }),
      );
      const turn = await begin();
      postgres.hold();
      gate.open();
      await answer.reached;
      expect(await callers(turn)).to.deep.equal([first, second]);
      postgres.release();
      await hasNoticed();
      answer.open();
      await judge(turn, 2);
    });
  });
});

import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { lastRelease, runCommandOf } from '../support/earlier-build.js';
import { prepareLoad } from '../support/fault-load.js';
import { startFaultSystem, type FaultSystem, type Turn } from '../support/fault-system.js';
import { startProber, type Probed } from '../support/prober.js';
import { THIS_BUILD, type RoleProcess } from '../support/role-process.js';
import { startRoundRobin, type RoundRobin } from '../support/round-robin.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { skip } from '../support/skip.js';
import { customResult, customTool } from '../support/waiting-turns.js';

const WAITING = 5;
const WAVE = 6;
const PACE = { words: 20, everyMs: 100 };

/** docs/operations/upgrading.md, step by step, from the last release to this build and back, under load. */
describe('an upgrade and the way back', function () {
  this.timeout(900_000);
  let system: FaultSystem;
  let balancer: RoundRobin;
  let release: { folder: string; commit: string };

  before(async function () {
    const found = await lastRelease();
    if (found === null) skip(this, 'the history of git does not have the last release');
    release = found;
    system = await startFaultSystem({
      ...{ apis: 2, workers: 2, earlier: release.folder },
      env: { SHUTDOWN_DELAY_SECONDS: '1' },
    });
    balancer = await startRoundRobin(system.apis.map(({ url }) => url));
    system.model.on(/^ask/, steps(toolUse('get_weather', {}, { id: 'toolu_1' }), 'Done.'));
  });
  after(async () => {
    await balancer?.close();
    await system?.close();
  });

  const ready = ({ url }: RoleProcess): Promise<boolean> =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );

  /** Steps 4 and 5 of the page, or steps 2 and 3 of the way back: one process at a time, each ready before the next. */
  async function replace(processes: RoleProcess[], folder: string): Promise<void> {
    for (const each of processes) {
      each.build = folder;
      expect(await each.stop(), `exit code of the ${each.role}`).to.equal(0);
      await each.start();
      await eventually('the process is ready', () => ready(each), 60_000);
    }
  }

  async function startWaiting(): Promise<Turn[]> {
    const turns = await Promise.all(
      Array.from({ length: WAITING }, async (_, n) =>
        system.send(await system.session({ tools: [customTool('get_weather')] }), `ask ${n}`),
      ),
    );
    for (const turn of turns) {
      void system.watch(turn);
      await eventually('the turn waits', async () => {
        const { body } = await system.insist('GET', `/v1/sessions/${turn.sessionId}`);
        return body.required_actions.length === 1;
      });
    }
    return turns;
  }

  async function answer(turns: Turn[]): Promise<void> {
    for (const { sessionId } of turns) {
      const events = [customResult('toolu_1', 'Sun.')];
      expect((await system.insist('POST', `/v1/sessions/${sessionId}/events`, { events })).status).to.equal(201);
    }
  }

  /** Runs `work` under load and a prober. Then every turn has ended, once, and none is stuck. */
  async function underLoad(what: string, work: () => Promise<void>): Promise<Probed> {
    const startLoad = await load;
    const prober = startProber(balancer.url, system.key);
    const loads = [await startLoad(WAVE, PACE)];
    let isDone = false;
    const loading = async (): Promise<void> => {
      while (!isDone) {
        const next = await startLoad(WAVE, PACE);
        loads.push(next);
        await Promise.all((await next.turns).map((turn) => system.ended(turn, 180_000)));
      }
    };
    const running = loading();
    await work().finally(() => (isDone = true));
    await running;
    const probed = await prober.stop();
    const ends = await system.verify();
    for (const one of loads) await one.check(ends);
    expect(ends.map(({ type }) => type as string)).to.deep.equal(ends.map(() => 'turn.completed'));
    const [{ calls }] = await system.db.query<[{ calls: number }]>(
      `SELECT count(*)::integer AS calls FROM tool_calls WHERE state <> 'done'`,
    );
    expect(calls, 'tool calls without a result').to.equal(0);
    console.log(`      ${what}: ${JSON.stringify({ turns: ends.length, lost: 0, stuck: 0, ...probed })}`);
    return probed;
  }
  let load: ReturnType<typeof prepareLoad>;

  it('an upgrade from the last release loses no turn, leaves none stuck, and the API is never away', async () => {
    load = prepareLoad(system);
    const waiting = await startWaiting();
    const probed = await underLoad('upgrade', async () => {
      await runCommandOf(THIS_BUILD, system.apis[0]!.env.DATABASE_URL!, 'migrate');
      await replace(system.apis, THIS_BUILD);
      await replace(system.workers, THIS_BUILD);
      await answer(waiting);
    });
    expect(probed).to.deep.include({ failed: 0, longestAwayMs: 0 });
  });

  it('the way back to the last release loses no turn, leaves none stuck, and the API is never away', async () => {
    const waiting = await startWaiting();
    const probed = await underLoad('way back', async () => {
      // Before: what the build that is gone back to cannot continue. A release of before this command has no such step.
      await stuckTurns(release.folder, 'replay');
      await replace(system.workers, release.folder);
      await replace(system.apis, release.folder);
      await answer(waiting);
      expect(await stuckTurns(THIS_BUILD, 'stuck')).to.match(/^0 turns whose workflow task fails/m);
    });
    expect(probed).to.deep.include({ failed: 0, longestAwayMs: 0 });
  });

  async function stuckTurns(folder: string, command: 'replay' | 'stuck'): Promise<string | null> {
    const { DATABASE_URL, TEMPORAL_ADDRESS } = system.apis[0]!.env;
    const usage = await runCommandOf(folder, DATABASE_URL!, 'turn', '--help');
    if (!usage.includes(`turn -- ${command}`)) return null;
    process.env.TEMPORAL_ADDRESS = TEMPORAL_ADDRESS;
    const out = await runCommandOf(folder, DATABASE_URL!, 'turn', command);
    delete process.env.TEMPORAL_ADDRESS;
    return out;
  }
});

import { cpus, loadavg } from 'node:os';
import { embeddedDatabaseUrl } from '../../dev/embedded-postgres.js';
import { openDataSource } from '../../src/db/data-source.js';
import type { ApiCall } from '../../test/support/client.js';
import { openSse } from '../../test/support/sse-reader.js';
import { callOf } from '../hostile/attacks.js';
import { makeTargets, MIX, ORDINARY } from '../hostile/mix.js';
import { newSession, runTurn } from '../hostile/project.js';
import { cpuOf, median, pause, quantile, timed } from '../measure.js';
import { scenario } from '../scenario.js';
import { tableOf } from '../table.js';
import { serving, startAttacker, startService } from './hostile.js';

const ROUNDS = 2;
const WARM_UP = 20;
const PAUSE_MS = 200;
/** From the first attack to the first sample. */
const BEGIN_MS = 3_000;
/** From the end of the attacks to the next sample without them. */
const REST_MS = 3_000;
/** A new rate of a project counts after at most 5 s. */
const RATE_MS = 6_000;
/** A turn without an end after this time has failed. */
const TURN_MS = 60_000;
const MAX_RATIO = 2;
/** Small, because the machine also has everything else. */
const COMMANDS = { SANDBOX_PROVIDER: 'bubblewrap', SANDBOX_MEMORY_MB: '256', SANDBOX_DISK_MB: '256' };
const MODEL = { model_id: 'local-rules' };

/** Times of the project that works, in ms. */
type Times = Record<'turn' | 'list of sessions' | 'first frame', number[]>;
const noTimes = (): Times => ({ turn: [], 'list of sessions': [], 'first frame': [] });

/**
 * One project does everything of bench/hostile/mix at once, another one works. Windows without and with the attacks take turns, so
 * that other work of the machine falls on both.
 */
export default scenario({
  measures:
    '`npm start` with bubblewrap: turns, lists and streams of a project while another one does all of bench/hostile/mix at once (--only: those with this text in their names; --alone yes: one after the other); fails beyond twice the p95. --samples: of a window, two with and two without attacks; --rate: of the attacker, as shipped 60, 0: none; --honest: compares with so many people of a third project who send one message after the other',
  options: { only: '', alone: 'no', samples: 30, rate: 60, honest: 0 },
  async run(bench, { only, alone, samples, rate, honest }) {
    const names = Object.keys(MIX).filter((each) => each.includes(only));
    if (names.length === 0) throw new Error(`No attack has ${only} in its name:\n${Object.keys(MIX).join('\n')}`);
    const attacker = await startAttacker(bench);
    const { url, dataDir, keys, newKey } = await startService(bench, COMMANDS);
    const [hostile, normal, third] = [newKey('hostile'), newKey('normal'), newKey('third')];
    const limit = (project: string, perMinute: number): string =>
      keys('limit', '--project', project, '--rate-per-minute', String(perMinute));
    for (const project of ['normal', 'hostile', 'third']) limit(project, 0);
    await pause(RATE_MS);
    const db = await openDataSource(embeddedDatabaseUrl(dataDir)!, 2, 'bench');
    const targets = await makeTargets(callOf({ url, key: hostile }), db);
    await db.destroy();
    limit('hostile', rate);
    const victim = await Victim.of(url, normal);
    await victim.samples(WARM_UP, noTimes());
    const service = serving(url);
    let isTooSlow = false;
    for (const chosen of alone === 'yes' ? names.map((name) => [name]) : [names]) {
      const [quiet, attacked, busy] = [noTimes(), noTimes(), noTimes()];
      const beside = async (name: string, order: { key: string; mix: string[] }, times: Times): Promise<void> => {
        const work = attacker.attack({ url, targets, ...order });
        await pause(BEGIN_MS);
        await window(name, service, () => victim.samples(samples, times));
        attacker.stop();
        console.log(await work);
      };
      for (let round = 0; round < ROUNDS; round += 1) {
        await pause(REST_MS);
        await window('quiet', service, () => victim.samples(samples, quiet));
        await beside('attacked', { key: hostile, mix: chosen }, attacked);
        if (honest === 0) continue;
        await pause(REST_MS);
        await beside('honest load', { key: third, mix: Array<string>(honest).fill(ORDINARY) }, busy);
      }
      console.log(chosen.join('\n'));
      isTooSlow = print(quiet, attacked) || isTooSlow;
      if (honest > 0) print(quiet, busy, 'honest load');
    }
    if (isTooSlow) process.exitCode = 1;
  },
});

/** Takes samples. Prints the load of the machine beside them, and the shares of a core that were used by all and by API and worker. */
async function window(name: string, service: number, take: () => Promise<void>): Promise<void> {
  const load = loadavg()[0]!;
  const [all, own] = [busySeconds(), cpuOf(service)];
  const seconds = (await timed(take)) / 1000;
  const shares = [busySeconds() - all, cpuOf(service) - own].map((used) => (used / seconds).toFixed(2));
  const loads = `load ${load.toFixed(1)} to ${loadavg()[0]!.toFixed(1)} on ${cpus().length} cores`;
  console.log(`${name}: ${seconds.toFixed(0)} s, ${loads}, used ${shares[0]}, by the service's process ${shares[1]}`);
}

/** Seconds in which the cores of the machine were not idle. */
const busySeconds = (): number =>
  cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0) / 1000;

/** Returns whether a p95 is beyond the aim. */
function print(quiet: Times, attacked: Times, name = 'attacked'): boolean {
  const shown = (ms: number): string => `${ms.toFixed(0)} ms`;
  let isTooSlow = false;
  const rows = Object.entries(quiet).map(([time, before]) => {
    const during = attacked[time as keyof Times];
    const ratio = quantile(during, 0.95) / quantile(before, 0.95);
    isTooSlow ||= !(ratio <= MAX_RATIO);
    const times = [before, during].flatMap((each) =>
      [median(each), quantile(each, 0.95), Math.max(...each)].map(shown),
    );
    return [time, ...times, `${ratio.toFixed(2)} ×`, ratio <= MAX_RATIO ? 'pass' : 'FAIL'];
  });
  console.log(tableOf([`,quiet p50,p95,longest,${name} p50,p95,longest,p95 ratio,`.split(','), ...rows]));
  return isTooSlow;
}

/** The project that works. */
class Victim {
  private constructor(
    private readonly url: string,
    private readonly key: string,
    private readonly call: ApiCall,
    /** A session whose turn has ended. */
    private readonly ended: string,
  ) {}

  static async of(url: string, key: string): Promise<Victim> {
    const call = callOf({ url, key });
    const ended = await newSession(call, MODEL);
    await runTurn(call, ended, [], 'write 1 words');
    return new Victim(url, key, call, ended);
  }

  async samples(count: number, { turn, 'list of sessions': list, 'first frame': frame }: Times): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      turn.push(await this.#turn());
      list.push(await timed(async () => expectStatus(200, (await this.call('GET', '/v1/sessions')).status)));
      frame.push(await this.#firstFrame());
      await pause(PAUSE_MS);
    }
  }

  #open(session: string): ReturnType<typeof openSse> {
    return openSse(`${this.url}/v1/sessions/${session}/events/stream`, this.key);
  }

  /** From the message to the end of its turn; infinite without one. */
  async #turn(): Promise<number> {
    const session = await newSession(this.call, MODEL);
    const stream = await this.#open(session);
    const tooLate = setTimeout(() => stream.close(), TURN_MS);
    try {
      const began = performance.now();
      const sent = await this.call('POST', `/v1/sessions/${session}/messages`, { content: 'write 1 words' });
      expectStatus(201, sent.status);
      const end = await stream.until(({ event }) => event === 'turn.completed' || event === 'turn.failed');
      return end.event === 'turn.completed' ? end.at - began : Number.POSITIVE_INFINITY;
    } catch (error) {
      console.log(String(error));
      return Number.POSITIVE_INFINITY;
    } finally {
      clearTimeout(tooLate);
      stream.close();
    }
  }

  /** From the request of a stream to the first frame of the turn that it shows. */
  async #firstFrame(): Promise<number> {
    const began = performance.now();
    const stream = await this.#open(this.ended);
    const first = await stream.until(() => true);
    stream.close();
    return first.at - began;
  }
}

function expectStatus(expected: number, status: number): void {
  if (status !== expected) throw new Error(`The project that works got ${status} in place of ${expected}`);
}

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { startFaultSystem, type FaultSystem } from '../support/fault-system.js';
import { RandomKiller } from '../support/random-killer.js';
import { answerSlowly, Talker } from '../support/talker.js';

const KILLS = Number(process.env.TALKING_KILLS ?? 20);
/** A kill follows the one before without waiting for the process to be back; the limit is that of a busy machine. */
const KILL_MS = 15_000;
const SETTLE_MS = 120_000;
const TALKERS = 8;
/** The longest pause between two messages of a talker, and before a kill after the first message that follows the last one. */
const MAX_PAUSE_MS = 1_000;
/** The next kill follows after this time even if no message is accepted. */
const MAX_SILENCE_MS = 10_000;
/** How often Temporal or Postgres is killed, relative to a process of the service: everything waits for them. */
const SERVER_WEIGHT = 0.3;

function acceptedBy(talkers: Talker[]): number {
  return talkers.reduce((sum, { accepted }) => sum + accepted, 0);
}

/** decisions.md "Messages while a turn runs": what is accepted is never lost and never delivered twice, whatever dies. */
describe('messages that wait while everything is killed', () => {
  let system: FaultSystem;
  before(async () => {
    system = await startFaultSystem({
      apis: 2,
      workers: 2,
      ownPostgres: true,
      ownTemporal: { persistent: true },
    });
  });
  after(() => system.close());
  afterEach(() => {
    expect(system.model.refused.map(({ refused }) => refused)).to.deep.equal([]);
    system.model.reset();
  });

  const again = async (each: { kill(): Promise<void>; start(): Promise<void> }): Promise<void> => {
    await each.kill();
    await each.start();
  };
  const killers: Record<string, () => Promise<unknown>> = {
    'every API': () => Promise.all(system.apis.map(again)),
    'every worker': () => Promise.all(system.workers.map(again)),
    Temporal: () => system.temporal!.kill().then(() => system.temporal!.restart()),
    Postgres: () => system.postgres!.kill().then(() => system.postgres!.restart()),
  };
  /** What the tables show of a session at each moment. */
  const moments: Record<string, string> = {
    accepted: 'SELECT 1',
    taken: `SELECT FROM events WHERE session_id = $1 AND data->>'content' = 'Steer'`,
    'the end of a turn': `SELECT FROM turns WHERE session_id = $1 AND number = 1 AND state = 'completed'`,
    'the begin of the next': `SELECT FROM model_calls a JOIN turns ON turns.id = a.turn_id
      WHERE session_id = $1 AND number = 2`,
  };

  for (const [moment, statement] of Object.entries(moments)) {
    for (const [victim, kill] of Object.entries(killers)) {
      it(`${victim}, at ${moment}: each message once, in order`, async () => {
        answerSlowly(system, 60);
        const talker = await Talker.begin(system);
        await talker.say('First, look', 'queue');
        await talker.say('Steer', 'steer');
        await talker.say('Second', 'queue');
        await talker.say('Third', 'queue');
        await eventually(moment, async () => {
          const rows: unknown[] = await system.db.query(
            statement,
            statement.includes('$1') ? [talker.sessionId] : undefined,
          );
          return rows.length > 0;
        });
        await kill();
        await talker.settled(SETTLE_MS);
        const messages = await talker.check();
        expect(messages.map(({ content }) => content as string)).to.deep.equal([
          'First, look',
          'Steer',
          'Second',
          'Third',
        ]);
      });
    }
  }

  it(`${KILLS} at random: each message once, in order`, async function () {
    this.timeout(KILLS * KILL_MS + 5 * SETTLE_MS);
    answerSlowly(system, 30);
    const talkers = await Promise.all(Array.from({ length: TALKERS }, () => Talker.begin(system)));
    const killer = RandomKiller.of(system, SERVER_WEIGHT);
    let killing = true;
    const talking = talkers.map(async (talker) => {
      for (let n = 0; killing; n += 1) {
        const look = Math.random() < 0.5 ? ', look' : '';
        await talker.say(`Message ${n}${look}`, Math.random() < 0.5 ? 'queue' : 'steer');
        await sleep(Math.random() * MAX_PAUSE_MS);
      }
    });
    try {
      while (killer.kills < KILLS) {
        const accepted = acceptedBy(talkers);
        await killer.kill();
        const until = performance.now() + MAX_SILENCE_MS;
        while (acceptedBy(talkers) === accepted && performance.now() < until) await sleep(100);
        await sleep(Math.random() * MAX_PAUSE_MS);
      }
      await killer.allStarted();
    } finally {
      killing = false;
    }
    await Promise.all(talking);
    await Promise.all(talkers.map((talker) => talker.settled(2 * SETTLE_MS)));
    const all = await Promise.all(talkers.map((talker) => talker.check()));
    const delivered = all.flat().filter((event) => event.delivered_at_step !== undefined);
    console.log(
      `      ${killer.kills} kills, ${all.flat().length} messages, ${delivered.length} of them in an open turn`,
    );
  });
});

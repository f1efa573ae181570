import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { startFaultSystem, type FaultSystem } from '../support/fault-system.js';
import { answerSlowly, Talker } from '../support/talker.js';

const KILLS = Number(process.env.TALKING_KILLS ?? 20);
const KILL_MS = 15_000;
const SETTLE_MS = 120_000;
const TALKERS = 4;
/** Of the kills, those of Temporal or Postgres, which are away for longer. */
const SERVER_SHARE = 0.2;

/** contract.md §9: what is accepted is never lost and never delivered twice, whatever dies. */
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
    'the begin of the next': `SELECT FROM model_attempts a JOIN turns ON turns.id = a.turn_id
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
    this.timeout(KILLS * KILL_MS + 3 * SETTLE_MS);
    answerSlowly(system, 30);
    const talkers = await Promise.all(Array.from({ length: TALKERS }, () => Talker.begin(system)));
    let killing = true;
    const talking = talkers.map(async (talker) => {
      for (let n = 0; killing; n += 1) {
        const look = Math.random() < 0.5 ? ', look' : '';
        await talker.say(`Message ${n}${look}`, Math.random() < 0.5 ? 'queue' : 'steer');
      }
    });
    const servers = [killers.Temporal!, killers.Postgres!];
    const roles = [...system.apis, ...system.workers].map((each) => () => again(each));
    try {
      for (let kill = 0; kill < KILLS; kill += 1) {
        const victims = Math.random() < SERVER_SHARE ? servers : roles;
        await victims[Math.floor(Math.random() * victims.length)]!();
      }
    } finally {
      killing = false;
    }
    await Promise.all(talking);
    await Promise.all(talkers.map((talker) => talker.settled(2 * SETTLE_MS)));
    const all = await Promise.all(talkers.map((talker) => talker.check()));
    console.log(`      ${KILLS} kills, ${all.flat().length} messages`);
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { ALL_KILLABLE } from '../support/fault-system.js';
import { asVictim, killAndStart, RandomKiller } from '../support/random-killer.js';
import { answerSlowly, Talker } from '../support/talker.js';
import { expectAcceptedRequests, useFaultSystem } from '../support/use.js';

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
  const system = useFaultSystem(ALL_KILLABLE);
  expectAcceptedRequests(system);

  const killers: Record<string, () => Promise<unknown>> = {
    'every API': () => Promise.all(system.apis.map(killAndStart)),
    'every worker': () => Promise.all(system.workers.map(killAndStart)),
    Temporal: () => killAndStart(asVictim(() => system.temporal!)),
    Postgres: () => killAndStart(asVictim(() => system.postgres!)),
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
        const said = ['First, look', 'Steer', 'Second', 'Third'];
        for (const content of said) await talker.say(content, content === 'Steer' ? 'steer' : 'queue');
        const parameters = statement.includes('$1') ? [talker.sessionId] : undefined;
        await eventually(moment, async () => (await system.db.query<unknown[]>(statement, parameters)).length > 0);
        await kill();
        await talker.settled(SETTLE_MS);
        const messages = await talker.check();
        expect(messages.map(({ content }) => content as string)).to.deep.equal(said);
      });
    }
  }

  it(`${KILLS} at random: each message once, in order`, async function () {
    this.timeout(KILLS * KILL_MS + 5 * SETTLE_MS);
    answerSlowly(system, 30);
    const talkers = await Promise.all(Array.from({ length: TALKERS }, () => Talker.begin(system)));
    const killer = RandomKiller.of(system, SERVER_WEIGHT);
    const talking = (goesOn: () => boolean) =>
      talkers.map(async (talker) => {
        for (let n = 0; goesOn(); n += 1) {
          const look = Math.random() < 0.5 ? ', look' : '';
          await talker.say(`Message ${n}${look}`, Math.random() < 0.5 ? 'queue' : 'steer');
          await sleep(Math.random() * MAX_PAUSE_MS);
        }
      });
    const pace = { progress: () => acceptedBy(talkers), maxSilenceMs: MAX_SILENCE_MS, maxPauseMs: MAX_PAUSE_MS };
    await killer.killDuring(KILLS, talking, pace);
    await Promise.all(talkers.map((talker) => talker.settled(2 * SETTLE_MS)));
    const all = await Promise.all(talkers.map((talker) => talker.check()));
    const delivered = all.flat().filter((event) => event.delivered_at_step !== undefined);
    console.log(
      `      ${killer.kills} kills, ${all.flat().length} messages, ${delivered.length} of them in an open turn`,
    );
  });
});

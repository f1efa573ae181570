import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { asVictim, killAndStart, type Victim } from '../support/random-killer.js';
import { createSchedule, newSchedule, type Shown } from '../support/schedules.js';
import { useFaultSystem } from '../support/use.js';

const TIMES = Number(process.env.SCHEDULE_TIMES ?? 50);
/** Schedules with one time, below the limit of a project. */
const PER_KILL = 10;
const KILLS = Math.ceil(TIMES / PER_KILL);
/** Before the time of a round its schedules are created, and Temporal follows: at least as long, or three times the last. */
const AHEAD_MS = 4000;
/** The kill of a round comes so long before or after its time. */
const KILL_FROM_MS = -500;
const KILL_TO_MS = 1500;
const KILL_MS = 30_000;
const SETTLE_MS = 240_000;

interface Taken {
  schedule_id: string;
  minute: number;
  state: string;
  reason: string | null;
  turn_id: string | null;
  messages: string[];
  ends: string[];
  late: number;
}

/** Everything is killed, in turn, at the times of schedules. */
describe(`kills around ${KILLS * PER_KILL} times of schedules`, () => {
  const system = useFaultSystem({ apis: 2, workers: 2, ownPostgres: true, ownTemporal: true });

  const all = (parts: Victim[]): Promise<unknown> => Promise.all(parts.map(killAndStart));
  const [temporal, postgres] = [asVictim(() => system.temporal!), asVictim(() => system.postgres!)];
  const killers: Record<string, () => Promise<unknown>> = {
    'every worker': () => all(system.workers),
    Temporal: () => all([temporal]),
    'one worker': () => all(system.workers.slice(0, 1)),
    Postgres: () => all([postgres]),
    'every API': () => all(system.apis),
    'every process and Temporal': () => all([...system.workers, ...system.apis, temporal]),
  };

  const createOne = (key: string, fields: object): Promise<Shown> =>
    createSchedule(
      (method, path, body) => system.insist(method, path, body, key),
      newSchedule({ message: { content: 'Hello' }, ...fields }, 'scripted'),
    );
  /** In new sessions, in a session each, and four that wait for each other in one session. */
  let aheadMs = 2 * AHEAD_MS;
  const createRound = async (project: string): Promise<{ at: number; created: string[] }> => {
    const key = await system.newKey(project);
    const sessions = await Promise.all(Array.from({ length: 4 }, () => system.session({}, key)));
    const began = Date.now();
    const at = Math.ceil((began + aheadMs) / 1000) * 1000;
    const existing = (session_id: string, overlap: string): object => ({
      overlap,
      target: { type: 'existing_session', session_id },
    });
    const bodies = [
      ...Array.from({ length: 3 }, () => ({})),
      ...sessions.slice(1).map((id) => existing(id, 'skip')),
      ...Array.from({ length: PER_KILL - 6 }, () => existing(sessions[0]!, 'queue')),
    ];
    const created = await Promise.all(
      bodies.map((body) => createOne(key, { at: new Date(at).toISOString(), ...body })),
    );
    aheadMs = Math.max(AHEAD_MS, 3 * (Date.now() - began));
    return { at, created: created.map(({ id }) => id as string) };
  };

  it('no time is started twice, and none is lost', async function () {
    this.timeout(KILLS * KILL_MS + SETTLE_MS);
    const minutely = (await createOne(system.key, { cron: '* * * * *' })).id as string;
    const ids: string[] = [];
    for (let round = 0; round < KILLS; round += 1) {
      const { at, created } = await createRound(`round-${round}`);
      ids.push(...created);
      const moment = at + KILL_FROM_MS + Math.random() * (KILL_TO_MS - KILL_FROM_MS);
      await sleep(Math.max(0, moment - Date.now()));
      const victims = Object.keys(killers);
      await killers[victims[round % victims.length]!]!();
    }

    await system.insist('POST', `/v1/schedules/${minutely}/pause`);
    const open = `SELECT (SELECT count(*)::integer FROM schedules WHERE id = ANY($1) AND state <> 'ended')
        + (SELECT count(*)::integer FROM turns WHERE state NOT IN ('completed', 'failed', 'cancelled'))
        + (SELECT count(*)::integer FROM waiting_messages) AS count`;
    await eventually(
      'every turn to end',
      async () => {
        const [{ count }] = await system.db.query<[{ count: number }]>(open, [ids]);
        return count === 0;
      },
      SETTLE_MS,
    );
    const taken = await system.db.query<Taken[]>(
      `SELECT schedule_id, extract(epoch FROM scheduled_at)::double precision / 60 AS minute, state, reason, turn_id,
         extract(epoch FROM started_at - scheduled_at)::double precision AS late,
         (SELECT coalesce(json_agg(turn_id), '[]') FROM events
          WHERE type = 'user.message' AND data->>'schedule_id' = r.schedule_id) AS messages,
         (SELECT coalesce(json_agg(type), '[]') FROM events
          WHERE turn_id = r.turn_id AND type IN ('turn.completed', 'turn.failed', 'turn.cancelled')) AS ends
       FROM schedule_runs r WHERE schedule_id = ANY($1) ORDER BY scheduled_at`,
      [[...ids, minutely]],
    );
    const once = taken.filter(({ schedule_id }) => schedule_id !== minutely);
    expect(once.map(({ schedule_id }) => schedule_id)).to.have.members(ids);
    for (const run of once) {
      expect(run).to.deep.include({ state: 'started', reason: null, messages: [run.turn_id] });
      expect(run.ends).to.deep.equal(['turn.completed']);
    }
    // Of the minutes that an outage covers the last one is started, and the others are missed.
    const minutes = taken.filter(({ schedule_id }) => schedule_id === minutely);
    for (const [index, { minute, reason, ends }] of minutes.entries()) {
      expect(minute).to.equal(minutes[0]!.minute + index);
      expect(ends).to.deep.equal(reason === 'missed' ? [] : ['turn.completed']);
    }
    const late = once.map((run) => run.late).sort((a, b) => a - b);
    const seconds = (at: number): string => late[Math.floor((late.length - 1) * at)]!.toFixed(1);
    console.log(`      ${KILLS} kills, ${ids.length} times; late by ${seconds(0.5)} s, at most ${seconds(1)} s`);
  });
});

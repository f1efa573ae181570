import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { startFaultSystem, type FaultSystem } from '../support/fault-system.js';
import { inSeconds, newSchedule } from '../support/schedules.js';

const TIMES = Number(process.env.SCHEDULE_TIMES ?? 50);
/** Schedules of a project, below its limit. */
const PER_PROJECT = 50;
const FIRST_SECONDS = 10;
const SPREAD_SECONDS = 40;
const TIMEOUT_MS = 240_000;

/** Everything is killed, in turn, while the times of many schedules come. */
describe(`kills around ${TIMES} times of schedules`, () => {
  let system: FaultSystem;
  before(async () => {
    system = await startFaultSystem({
      apis: 2,
      workers: 2,
      ownPostgres: true,
      ownTemporal: true,
      env: { RATE_LIMIT_PER_MINUTE: '0' },
    });
  });
  after(() => system.close());

  it('no time is started twice, and none is lost', async function () {
    this.timeout(TIMEOUT_MS + 120_000);
    const { model } = await firstModel();
    const ids: string[] = [];
    for (let project = 0; project < TIMES / PER_PROJECT; project += 1) {
      const key = await system.newKey(`schedules-${project}`);
      const wanted = Array.from({ length: Math.min(PER_PROJECT, TIMES) }, (_, n) =>
        newSchedule(
          { at: inSeconds(FIRST_SECONDS + (SPREAD_SECONDS * n) / PER_PROJECT), message: { content: 'Hello' } },
          model,
        ),
      );
      const answers = await Promise.all(wanted.map((body) => system.insist('POST', '/v1/schedules', body, key)));
      for (const { status, body } of answers) {
        expect(status, JSON.stringify(body)).to.equal(201);
        ids.push(body.id as string);
      }
    }

    for (let round = 0; round < 3; round += 1) {
      for (const role of [...system.workers, ...system.apis]) {
        await role.kill();
        await role.start();
      }
      for (const server of [system.temporal!, system.postgres!]) {
        await server.kill();
        await server.restart();
      }
    }
    const count = async (statement: string): Promise<number> =>
      (await system.db.query<[{ count: number }]>(statement, [ids]))[0].count;
    await eventually(
      'every time to be taken',
      async () => {
        const open = `SELECT count(*)::integer FROM schedules WHERE id = ANY($1) AND state <> 'ended'`;
        return (await count(open).catch(() => 1)) === 0;
      },
      TIMEOUT_MS,
    );
    const started = `SELECT count(*)::integer FROM schedule_runs WHERE schedule_id = ANY($1) AND state = 'started'`;
    expect(await count(started)).to.equal(ids.length);
    const messages = `SELECT count(*)::integer FROM events
      WHERE type = 'user.message' AND data->>'schedule_id' = ANY($1)`;
    expect(await count(messages)).to.equal(ids.length);
  });

  async function firstModel(): Promise<{ model: string }> {
    const { body } = await system.insist('GET', '/v1/models');
    return { model: (body.items as { id: string }[])[0]!.id };
  }
});

import { expect } from 'chai';
import { deleteOldRuns } from '../../src/schedules/runs.js';
import { eventually } from '../support/eventually.js';
import { createSchedule, newSchedule, ofSchedule, runsOf, type Shown } from '../support/schedules.js';
import { useTurnService } from '../support/use.js';

const MINUTE_MS = 60_000;
const now = Date.now;

describe('the times of a schedule', () => {
  const service = useTurnService();
  before(async () => {
    service.model.on(/Report/, 'Nothing is late.');
  });
  afterEach(() => {
    Date.now = now;
  });

  const create = (fields: Record<string, unknown>): Promise<Shown> =>
    createSchedule(service.api, newSchedule(fields, 'scripted'));
  /** Stores a run that was skipped, this many minutes after the current one began; returns its time. */
  const takeTime = async (id: string, minutes: number): Promise<number> => {
    const [row] = await service.db.query<[{ scheduled_at: string }]>(
      `INSERT INTO schedule_runs (schedule_id, scheduled_at, state, reason, is_settled)
       VALUES ($1, date_trunc('minute', now()) + $2 * interval '1 minute', 'skipped', 'session_running', true)
       RETURNING scheduled_at`,
      [id, minutes],
    );
    return Date.parse(row.scheduled_at);
  };
  const nextOf = (schedule: Shown): number => Date.parse(schedule.next_runs_at[0]);
  const change = async (id: string, body: object): Promise<Shown> =>
    (await service.api('PATCH', `/v1/schedules/${id}`, body)).body;

  it('the times of a schedule are set by Postgres’ clock, through a process whose clock is behind', async () => {
    const { id } = await create({ cron: '0 0 1 1 *' });
    const taken = await takeTime(id, 0);
    Date.now = () => now() - 2 * MINUTE_MS;
    expect(nextOf(await change(id, { cron: '* * * * *' }))).to.be.above(taken);
    expect(nextOf(await change(id, { timezone: 'Europe/Berlin' }))).to.be.above(taken);
    await ofSchedule(service.api, 'POST', id, '/pause');
    expect(nextOf(await ofSchedule(service.api, 'POST', id, '/resume'))).to.be.above(taken);
    await ofSchedule(service.api, 'POST', id, '/pause');
    const at = new Date(now() - MINUTE_MS).toISOString();
    const late = await service.api('POST', '/v1/schedules', newSchedule({ at }, 'scripted'));
    expect(late.body.error?.details.errors[0].path).to.equal('/at');
  });

  it('the times of a schedule are set after the newest run, which Temporal’s clock may have fired early', async () => {
    const { id } = await create({ cron: '0 0 1 1 *' });
    const taken = await takeTime(id, 2);
    expect(nextOf(await change(id, { cron: '* * * * *' }))).to.equal(taken + MINUTE_MS);
    await ofSchedule(service.api, 'POST', id, '/pause');
    expect(nextOf(await ofSchedule(service.api, 'POST', id, '/resume'))).to.equal(taken + MINUTE_MS);
    await ofSchedule(service.api, 'POST', id, '/pause');
  });

  it('the times of a schedule are passed over where they were taken: the schedule goes on', async () => {
    const { id } = await create({ cron: '* * * * *' });
    const taken = [await takeTime(id, -2), await takeTime(id, 0)];
    await service.db.query(
      `UPDATE schedules SET next_run_at = date_trunc('minute', now()) - interval '2 minutes' WHERE id = $1`,
      [id],
    );
    const nextRun = async (): Promise<number> => {
      const [row] = await service.db.query<[{ next_run_at: string }]>(
        'SELECT next_run_at FROM schedules WHERE id = $1',
        [id],
      );
      return Date.parse(row.next_run_at);
    };
    await eventually('the next time', async () => (await nextRun()) > taken[1]!);
    const runs = await runsOf(service.api, id);
    const reasons = [-2, -1, 0].map(
      (minutes) =>
        runs.find(({ scheduled_at }) => Date.parse(scheduled_at) === taken[1]! + minutes * MINUTE_MS)?.reason as string,
    );
    expect(reasons).to.deep.equal(['session_running', 'missed', 'session_running']);
    await ofSchedule(service.api, 'POST', id, '/pause');
  });

  it('the times of a schedule end a schedule, which is removed after 30 days without a run', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.push((await create({})).id as string);
    await service.db.query(
      `UPDATE schedules SET state = 'ended', next_run_at = NULL, synced_version = version,
         updated_at = now() - CASE id WHEN $1 THEN interval '29 days' ELSE interval '31 days' END WHERE id = ANY($2)`,
      [ids[0], ids],
    );
    await takeTime(ids[1]!, 0);
    expect((await deleteOldRuns(service.db, 1000)).schedules).to.equal(1);
    const left = await service.db.query<{ id: string }[]>('SELECT id FROM schedules WHERE id = ANY($1)', [ids]);
    expect(left.map(({ id }) => id)).to.have.members(ids.slice(0, 2));
  });
});

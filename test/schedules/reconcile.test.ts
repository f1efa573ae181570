import { expect } from 'chai';
import { createScheduleRound } from '../../src/schedules/reconcile.js';
import { createTurnSchedules } from '../../src/temporal/turn-schedules.js';
import { eventually } from '../support/eventually.js';
import { testLogger } from '../support/log.js';
import { createSchedule, newSchedule, ofSchedule, type Shown } from '../support/schedules.js';
import { useService, useTemporalClient } from '../support/use.js';

/** What Temporal has of a schedule. */
interface Followed {
  times: string[];
  note: string | undefined;
  isPaused: boolean;
}

describe('Temporal’s schedules follow the tables', () => {
  const temporal = useTemporalClient();
  const service = useService();

  const handle = (id: string) => temporal.schedule.getHandle(`${service.config.taskQueue}-${id}`);
  const followed = async (id: string): Promise<Followed | null> => {
    const found = await handle(id)
      .describe()
      .catch(() => null);
    if (found === null) return null;
    const times = found.info.nextActionTimes.slice(0, 5).map((time) => `${time.toISOString().slice(0, 19)}.000000Z`);
    return { times, note: found.state.note, isPaused: found.state.paused };
  };
  const follows = (schedule: Shown, note: string): Promise<void> =>
    eventually('Temporal to follow', async () => {
      const { times, note: has, isPaused } = (await followed(schedule.id)) ?? { times: [], note: '', isPaused: false };
      const isPausedHere = schedule.state === 'paused';
      const sameTimes = isPausedHere || JSON.stringify(times) === JSON.stringify(schedule.next_runs_at);
      return sameTimes && isPaused === isPausedHere && has?.startsWith(note) === true;
    });
  const isGone = (id: string): Promise<void> =>
    eventually('Temporal to forget', async () => (await followed(id)) === null);
  /** A round of a reconciler that has just begun to lead, for changes that are not new. */
  const compare = async (): Promise<void> => {
    await service.db.query(`UPDATE schedules SET updated_at = updated_at - interval '1 minute'`);
    const [{ id }] = await service.db.query<[{ id: string }]>('SELECT id FROM installation');
    const installation = async (): Promise<string> => id;
    const { taskQueue } = service.config;
    const schedules = createTurnSchedules(temporal, { taskQueue, catchupSeconds: 600, installation });
    await createScheduleRound({
      db: service.db,
      log: testLogger(),
      schedules,
      installation,
      fire: async () => undefined,
    }).run({});
  };
  const listed = (id: string, isListed = true): Promise<void> =>
    eventually('Temporal’s list', async () => {
      for await (const { scheduleId } of temporal.schedule.list()) if (scheduleId.endsWith(id)) return isListed;
      return !isListed;
    });

  it('Temporal’s schedules follow the tables as they are created, changed, paused, resumed and deleted', async () => {
    const created = await createSchedule(service.api, newSchedule({ timezone: 'Europe/Berlin' }));
    await follows(created, 'version 1 · 0 8 * * * in Europe/Berlin');
    const { body: changed } = await service.api('PATCH', `/v1/schedules/${created.id}`, { cron: '0 9 * * *' });
    await follows(changed, 'version 2 · 0 9 * * * in Europe/Berlin');
    await follows(await ofSchedule(service.api, 'POST', created.id, '/pause'), 'version 3');
    await follows(await ofSchedule(service.api, 'POST', created.id, '/resume'), 'version 4');
    await service.api('DELETE', `/v1/schedules/${created.id}`);
    await isGone(created.id);
  });

  it('Temporal’s schedules follow the tables after a request whose process died before it updated Temporal', async () => {
    const schedule = await createSchedule(service.api, newSchedule());
    await follows(schedule, 'version 1');
    await service.db.query(
      `UPDATE schedules SET cron = '0 10 * * *', version = 2, updated_at = now() - interval '1 minute',
         next_run_at = next_run_at + interval '2 hours' WHERE id = $1`,
      [schedule.id],
    );
    await follows(await ofSchedule(service.api, 'GET', schedule.id), 'version 2 · 0 10 * * *');
  });

  it('Temporal’s schedules follow the tables after an operator deleted, paused or changed them in Temporal', async () => {
    const schedule = await createSchedule(service.api, newSchedule());
    await follows(schedule, 'version 1');
    await listed(schedule.id);
    await handle(schedule.id).delete();
    await listed(schedule.id, false);
    await compare();
    await follows(schedule, 'version 1');
    await handle(schedule.id).pause('by hand');
    await eventually('the pause in the list', async () => {
      for await (const { scheduleId, state } of temporal.schedule.list()) {
        if (scheduleId.endsWith(schedule.id)) return state.paused;
      }
      return false;
    });
    await compare();
    await follows(schedule, 'version 1');
  });

  it('Temporal’s schedules follow the tables after a backup was restored that is older than Temporal', async () => {
    const [lost, changed] = [
      await createSchedule(service.api, newSchedule()),
      await createSchedule(service.api, newSchedule()),
    ];
    await follows(lost, 'version 1');
    await service.api('PATCH', `/v1/schedules/${changed.id}`, { name: 'later' });
    await follows(changed, 'version 2');
    await listed(lost.id);
    await listed(changed.id);
    // As the backup had them: without the first, and the second before its change.
    await service.db.query('DELETE FROM schedules WHERE id = $1', [lost.id]);
    await service.db.query('UPDATE schedules SET name = NULL, version = 1, synced_version = 1 WHERE id = $1', [
      changed.id,
    ]);
    await eventually('the list to be up to date', async () => {
      await compare();
      return (await followed(lost.id)) === null && (await followed(changed.id))?.note?.startsWith('version 1') === true;
    });
  });

  it('Temporal’s schedules follow the tables and leave those of another installation alone', async () => {
    const schedules = createTurnSchedules(temporal, {
      taskQueue: service.config.taskQueue,
      catchupSeconds: 600,
      installation: async () => 'another',
    });
    const id = 'sched_of-another-installation';
    await schedules.put({ id, project_id: 'proj', note: 'theirs', isPaused: true, times: [] });
    await listed(id);
    await compare();
    expect(await followed(id)).to.deep.equal({ times: [], note: 'theirs', isPaused: true });
    await schedules.remove(id);
  });
});

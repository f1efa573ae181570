import { createKey } from '../../src/projects/api-keys.js';
import { createSchedule, newSchedule } from '../../test/support/schedules.js';
import { count, median, pause, shown, timed, timedEach } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const PER_PROJECT = 100;
/** Before the first time, for each schedule that is to be created. */
const CREATION_MS = 40;

export default scenario({
  measures: 'schedules that fire within a minute: how late their turns start, and what other turns notice',
  options: { schedules: 1000, seconds: 60 },
  async run(bench, { schedules, seconds }) {
    const service = await bench.service({});
    const { db, model } = service;
    model.on(/Report|Other/, 'Done.');
    const other = async (): Promise<unknown> => service.run(await service.session(), 'Other');
    await timedEach(10, other);
    const before = await timedEach(20, other);

    const first = Date.now() + 30_000 + schedules * CREATION_MS;
    let { api } = service;
    for (let made = 0; made < schedules; made += 1) {
      if (made % PER_PROJECT === 0) api = service.as((await createKey(db, { project: `bench-${made}` })).key);
      const at = new Date(first + (made * seconds * 1000) / schedules).toISOString();
      await createSchedule(api, newSchedule({ at }, 'scripted'));
    }
    const left = (): Promise<number> => count(db, `SELECT count(*) FROM schedules WHERE state = 'active'`);
    row('seconds left before the first time', ((first - Date.now()) / 1000).toFixed(0));
    await pause(Math.max(0, first - Date.now()));
    const during: number[] = [];
    while ((await left()) > 0) during.push(await timed(other));
    const late = await db.query<{ ms: number }[]>(
      `SELECT extract(epoch FROM started_at - scheduled_at)::double precision * 1000 AS ms FROM schedule_runs
       WHERE state = 'started'`,
    );
    row('turns started', `${late.length} of ${schedules}`);
    row('late by', shown(late.map(({ ms }) => ms)));
    row('another turn before, median', `${median(before).toFixed(0)} ms`);
    row('another turn meanwhile', shown(during));
  },
});

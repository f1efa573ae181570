import { runNow } from '../../src/schedules/fire.js';
import { withLockedSchedule } from '../../src/schedules/lock.js';
import { operation } from '../http/core/operation.js';
import { presentSchedule, scheduleSchema } from './present.js';
import { requireSession, scheduleNotFound, scheduleOfPath } from './resource.js';

export const runSchedule = operation({
  id: 'runSchedule',
  summary: 'Run a schedule now, also a paused or ended one; its times do not change',
  description: 'Use it to try a schedule, or to make up for a time that was missed.',
  idempotent: true,
  success: { status: 200, description: 'The schedule; last_run shows the result.', schema: scheduleSchema },
  errors: ['schedule_not_found', 'session_not_found'],
  resource: scheduleOfPath,
  async handle({ deps, resource, record, log }) {
    const { answer, launch } = await withLockedSchedule(deps.db, resource, async (tx, locked) => {
      const schedule = locked ?? scheduleNotFound();
      requireSession(schedule);
      const { ran, launch: afterwards } = await runNow(tx, { ...deps, log }, schedule);
      const shown = presentSchedule(ran);
      await record(tx, shown);
      return { answer: shown, launch: afterwards };
    });
    launch();
    return answer;
  },
});

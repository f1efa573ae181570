import { transaction } from '../../src/db/transaction.js';
import { runNow } from '../../src/schedules/fire.js';
import type { Schedule } from '../../src/schedules/schedule.js';
import { operation } from '../http/core/operation.js';
import { presentSchedule, scheduleSchema } from './present.js';
import { requireSession, scheduleNotFound, scheduleOfPath } from './resource.js';
import { lockSchedule } from '../../src/schedules/store.js';

export const runSchedule = operation<undefined, Schedule>({
  id: 'runSchedule',
  summary: 'Run a schedule now, also a paused or ended one; its times stay as they are',
  idempotent: true,
  success: { status: 200, description: 'The schedule; last_run says what came of it.', schema: scheduleSchema },
  errors: ['schedule_not_found', 'session_not_found'],
  resource: scheduleOfPath,
  async handle({ deps, resource, record, log }) {
    const { answer, launch } = await transaction(deps.db, async (tx) => {
      const schedule = (await lockSchedule(tx, resource)) ?? scheduleNotFound();
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

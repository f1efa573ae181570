import { changeSchedule } from '../../src/schedules/store.js';
import { operation } from '../http/core/operation.js';
import { scheduleSchema } from './present.js';
import { change, scheduleOfPath } from './resource.js';

export const pauseSchedule = operation({
  id: 'pauseSchedule',
  summary: 'Pause a schedule; times during the pause are skipped',
  description: 'Stops the schedule until it is resumed.',
  idempotent: true,
  success: { status: 200, description: 'The changed schedule.', schema: scheduleSchema },
  errors: ['schedule_not_found'],
  resource: scheduleOfPath,
  handle: (call) =>
    change(call, async (tx, schedule) =>
      schedule.state === 'active'
        ? changeSchedule(tx, schedule.id, { state: 'paused', paused_reason: null, next_run_at: null })
        : schedule,
    ),
});

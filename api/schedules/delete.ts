import { transaction } from '../../src/db/transaction.js';
import { deleteSchedule as removeSchedule } from '../../src/schedules/store.js';
import { operation } from '../http/core/operation.js';
import { scheduleNotFound, scheduleOfPath } from './resource.js';

export const deleteSchedule = operation({
  id: 'deleteSchedule',
  summary: 'Delete a schedule; turns that it started continue',
  description: 'Ends the schedule for good. Its sessions and turns stay.',
  success: { status: 204, description: 'Deleted.' },
  errors: ['schedule_not_found'],
  resource: scheduleOfPath,
  async handle({ deps, resource, record }) {
    await transaction(deps.db, async (tx) => {
      if (!(await removeSchedule(tx, resource.id))) scheduleNotFound();
      await record(tx);
    });
    deps.schedules.sync(resource.id);
  },
});

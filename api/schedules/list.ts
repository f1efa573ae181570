import { listSchedules as readSchedules } from '../../src/schedules/store.js';
import { operation } from '../http/core/operation.js';
import { newestPage, pageSchema } from '../http/core/page.js';
import { presentSchedule, scheduleSchema } from './present.js';

export const listSchedules = operation({
  id: 'listSchedules',
  summary: 'List schedules, newest first',
  description: 'Shows the schedules with their next times and newest runs.',
  paged: true,
  success: { status: 200, description: 'A page of schedules.', schema: pageSchema(scheduleSchema) },
  errors: [],
  handle: ({ deps, caller, query }) =>
    newestPage(query, 'schedules', (page) => readSchedules(deps.db, caller.projectId, page), presentSchedule),
});

import { pageOf } from '../../src/platform/page.js';
import { listSchedules as readSchedules } from '../../src/schedules/store.js';
import { operation } from '../http/core/operation.js';
import { newestFirst, pageSchema } from '../http/core/page.js';
import { presentSchedule, scheduleSchema } from './present.js';

export const listSchedules = operation({
  id: 'listSchedules',
  summary: 'List schedules, newest first',
  paged: true,
  success: { status: 200, description: 'A page of schedules.', schema: pageSchema(scheduleSchema) },
  errors: [],
  async handle({ deps, caller, query }) {
    const request = newestFirst(query, 'schedules');
    const schedules = await readSchedules(deps.db, caller.projectId, request);
    return pageOf('schedules', schedules, ({ created_at, id }) => [created_at, id], presentSchedule);
  },
});

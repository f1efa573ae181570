import { pageOf } from '../../src/platform/page.js';
import { listRuns } from '../../src/schedules/runs.js';
import { operation } from '../http/core/operation.js';
import { newestFirst, pageSchema } from '../http/core/page.js';
import { presentRun, runSchema } from './present.js';
import { scheduleOfPath } from './resource.js';

export const listScheduleRuns = operation({
  id: 'listScheduleRuns',
  summary: 'List the runs of a schedule, newest first; kept for 30 days',
  description: 'Shows which times started a turn, and why others were skipped.',
  paged: true,
  success: { status: 200, description: 'A page of runs.', schema: pageSchema(runSchema) },
  errors: ['schedule_not_found'],
  resource: scheduleOfPath,
  async handle({ deps, resource, query }) {
    const list = `schedule-runs:${resource.id}`;
    const runs = await listRuns(deps.db, resource.id, newestFirst(query, list));
    return pageOf(list, runs, ({ created_at, scheduled_at }) => [created_at, scheduled_at], presentRun);
  },
});

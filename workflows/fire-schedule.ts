import { defineSearchAttributeKey } from '@temporalio/common';
import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { ScheduleActivities } from '../activities/schedules/schedule-activities.js';
import { scheduleTaskQueue, type FireScheduleInput } from './contract.js';

/** Temporal sets it on the workflows that its schedules start. */
const SCHEDULED_AT = defineSearchAttributeKey('TemporalScheduledStartTime', 'DATETIME');

/** Starts the turn of a schedule's due time. Returns what came of it. */
export async function fireSchedule({ scheduleId }: FireScheduleInput): Promise<string> {
  const { taskQueue, typedSearchAttributes } = workflowInfo();
  // Retried until the workflow's own limit: a worker or Postgres may be away.
  const activities = proxyActivities<ScheduleActivities>({
    taskQueue: scheduleTaskQueue(taskQueue),
    startToCloseTimeout: '20 s',
    retry: { initialInterval: '1 s', backoffCoefficient: 2, maximumInterval: '10 s' },
  });
  const scheduledAt = typedSearchAttributes.get(SCHEDULED_AT)?.getTime() ?? null;
  return activities.fireSchedule({ scheduleId, scheduledAt });
}

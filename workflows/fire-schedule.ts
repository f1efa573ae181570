import { defineSearchAttributeKey } from '@temporalio/common';
import { proxyActivities, setWorkflowOptions, workflowInfo } from '@temporalio/workflow';
import type { ScheduleActivities } from '../activities/schedules/schedule-activities.js';
import type { FireScheduleInput } from './contract.js';
import { isVersioned } from './versioning.js';

/** Retried until the workflow's own limit: a worker or Postgres may be away. */
const { fireSchedule: fire } = proxyActivities<ScheduleActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 s', backoffCoefficient: 2, maximumInterval: '10 s' },
});

/** Temporal sets it on the workflows that its schedules start. */
const SCHEDULED_AT = defineSearchAttributeKey('TemporalScheduledStartTime', 'DATETIME');

/** It keeps no state that another build could not go on with. */
setWorkflowOptions(() => (isVersioned() ? { versioningBehavior: 'AUTO_UPGRADE' } : {}), fireSchedule);

/** Starts the turn of a schedule's due time. Returns what came of it. */
export async function fireSchedule({ scheduleId }: FireScheduleInput): Promise<string> {
  const scheduledAt = workflowInfo().typedSearchAttributes.get(SCHEDULED_AT)?.getTime() ?? null;
  return fire({ scheduleId, scheduledAt });
}

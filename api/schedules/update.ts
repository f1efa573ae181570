import type { FromSchema } from 'json-schema-to-ts';
import { transaction } from '../../src/db/transaction.js';
import { resolveMessage } from '../../src/messages/message.js';
import { nextRun, type Schedule } from '../../src/schedules/schedule.js';
import type { Target } from '../../src/schedules/start-turn.js';
import { changeSchedule, requireRoomForSchedule, type ScheduleChange } from '../../src/schedules/store.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import {
  checkScheduledMessage,
  inside,
  requireNextRun,
  requirePeriod,
  sessionOfTarget,
  timingOfBody,
} from './check.js';
import * as fields from './fields.js';
import { presentSchedule, scheduleSchema } from './present.js';
import { change, requireSession, scheduleOfPath, type LockedSchedule } from './resource.js';

const body = {
  $id: 'ScheduleChange',
  description: 'Changes of a schedule. Fields that are absent stay.',
  type: 'object',
  properties: {
    name: fields.nameField,
    cron: { ...fields.cronField, description: `${fields.cronField.description} Replaces \`at\`.` },
    at: { ...fields.atField, description: `${fields.atField.description} Replaces \`cron\`.` },
    timezone: fields.timezoneField,
    message: fields.messageField,
    overlap: fields.overlapField,
    end_at: fields.endAtField,
  },
  additionalProperties: false,
  examples: [{ cron: '30 7 * * MON-FRI' }],
} as const satisfies JsonSchema;

type Body = FromSchema<typeof body>;

export const updateSchedule = operation<Body, Schedule>({
  id: 'updateSchedule',
  summary: 'Change the given fields of a schedule',
  description:
    'Changes the fields that the body has. A new `cron` or `at` makes an ended schedule active again. The target does not change.',
  body,
  idempotent: true,
  success: { status: 200, description: 'The changed schedule.', schema: scheduleSchema },
  errors: [
    'schedule_not_found',
    'insufficient_scope',
    'unknown_model',
    'file_not_found',
    'skill_not_found',
    'session_not_found',
    'schedule_limit_reached',
  ],
  resource: scheduleOfPath,
  async check({ deps, caller, body }) {
    if (body.message !== undefined) await checkScheduledMessage(deps, caller, body.message);
  },
  async handle(call) {
    const { deps, caller, body, resource, record } = call;
    if (Object.keys(body).length === 0) {
      const answer = presentSchedule(resource);
      await transaction(deps.db, (tx) => record(tx, answer));
      return answer;
    }
    const { message } = body;
    if (message !== undefined) {
      const session = await sessionOfTarget(deps.db, caller.projectId, JSON.parse(resource.target) as Target);
      await inside('/message', () => resolveMessage(deps, caller.projectId, message, session));
    }
    return change(call, async (tx, schedule) => {
      const timing = timingChange(schedule, body, deps.config.scheduleMinPeriodSeconds);
      if (timing.state === 'active') requireSession(schedule);
      if (timing.state === 'active' && schedule.state === 'ended') await requireRoomForSchedule(tx, caller.projectId);
      return changeSchedule(tx, schedule.id, {
        ...('name' in body && { name: body.name }),
        ...(body.overlap !== undefined && { overlap: body.overlap }),
        ...(body.message !== undefined && { message: JSON.stringify(body.message) }),
        ...timing,
      });
    });
  },
});

/** What the timing in the body changes; a new `cron` or `at` makes an ended schedule active again. */
function timingChange(schedule: LockedSchedule, body: Body, minPeriodSeconds: number): ScheduleChange {
  const isReplaced = body.cron !== undefined || body.at !== undefined;
  if (!isReplaced && body.timezone === undefined && body.end_at === undefined) return {};
  const timing = timingOfBody(body, schedule);
  // An earlier end leaves a time that is due now; other times do not.
  const now = Date.parse(schedule.next_after);
  const due = schedule.next_run_at === null ? now : Date.parse(schedule.next_run_at) - 1;
  const after = isReplaced || body.timezone !== undefined ? now : Math.min(now, due);
  // The time of an ended `at` is over, whatever else changes.
  const isOver = schedule.state === 'ended' && !isReplaced && timing.at !== null;
  const next = isOver ? nextRun(timing, after) : requireNextRun(timing, after);
  if (body.cron !== undefined) requirePeriod(body.cron, minPeriodSeconds);
  if (schedule.state === 'paused' || next === null) return timing;
  return { ...timing, next_run_at: next, state: 'active' };
}

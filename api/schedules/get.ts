import { operation } from '../http/core/operation.js';
import { presentSchedule, scheduleSchema } from './present.js';
import { scheduleOfPath } from './resource.js';

export const getSchedule = operation({
  id: 'getSchedule',
  summary: 'Get a schedule',
  description: 'Shows one schedule with its next times and its newest run.',
  success: { status: 200, description: 'The schedule.', schema: scheduleSchema },
  errors: ['schedule_not_found'],
  resource: scheduleOfPath,
  handle: async ({ resource }) => presentSchedule(resource),
});

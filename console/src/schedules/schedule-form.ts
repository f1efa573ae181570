import type { Schedule, ScheduleChange } from '../../../client/src/index.js';
import { toLocalTime } from '../parts/format.js';

export interface ScheduleForm {
  name: string;
  /** By `cron`; else once, `at`. */
  repeats: boolean;
  cron: string;
  timezone: string;
  /** As an input of type `datetime-local` has it. */
  at: string;
  content: string;
  overlap: Schedule['overlap'];
}

export function emptyForm(): ScheduleForm {
  return {
    name: '',
    repeats: true,
    cron: '0 8 * * MON-FRI',
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    at: '',
    content: '',
    overlap: 'skip',
  };
}

export function formOf({ name, cron, timezone, at, message, overlap }: Schedule): ScheduleForm {
  const empty = emptyForm();
  return {
    name: name ?? '',
    repeats: cron !== null,
    cron: cron ?? empty.cron,
    timezone: cron === null ? empty.timezone : timezone,
    at: at === null ? '' : toLocalTime(new Date(at)),
    content: message.content,
    overlap,
  };
}

/** The fields of the API that say when the schedule runs. */
export function timingOf({
  repeats,
  cron,
  timezone,
  at,
}: ScheduleForm): Pick<ScheduleChange, 'cron' | 'timezone' | 'at'> {
  return repeats ? { cron, timezone } : { at: new Date(at).toISOString() };
}

/** What differs from the schedule: a time that is over must not be sent again. */
export function changeOf(form: ScheduleForm, schedule: Schedule): ScheduleChange {
  const before = formOf(schedule);
  const isSame = (...keys: (keyof ScheduleForm)[]): boolean => keys.every((key) => form[key] === before[key]);
  return {
    ...(!isSame('name') && { name: form.name === '' ? null : form.name }),
    ...(!isSame('repeats', ...(form.repeats ? (['cron', 'timezone'] as const) : (['at'] as const))) && timingOf(form)),
    ...(!isSame('content') && { message: { ...schedule.message, content: form.content } }),
    ...(!isSame('overlap') && { overlap: form.overlap }),
  };
}

import { nextTimes } from '../../../src/schedules/calendar/next-times.js';
import { isTimeZone } from '../../../src/schedules/calendar/zone.js';
import { formatDateTime } from '../parts/format.js';
import type { ScheduleForm } from './schedule-form.js';

const SHOWN = 5;

/** The next runs of a schedule while it is typed, by the calculation of the service. */
export function NextRuns({ form, endAt }: { form: ScheduleForm; endAt: string | null }) {
  const next = timesOf(form, endAt === null ? null : Date.parse(endAt));
  if (typeof next === 'string') return <span class="hint">{next}</span>;
  return (
    <ol class="hint" aria-label="Next runs">
      {next.map((time) => (
        <li key={time}>{formatDateTime(new Date(time).toISOString())}</li>
      ))}
    </ol>
  );
}

/** The times, or what is wrong with the form. */
function timesOf({ repeats, cron, timezone, at }: ScheduleForm, endAt: number | null): number[] | string {
  if (!repeats) {
    if (at === '') return '';
    return Date.parse(at) > Date.now() ? [Date.parse(at)] : 'The time is over.';
  }
  if (!isTimeZone(timezone)) return 'The time zone is not known. An example: Europe/Berlin';
  try {
    const times = nextTimes({ cron, at: null, timezone, endAt }, Date.now(), SHOWN);
    return times.length === 0 ? 'The expression never fires.' : times;
  } catch (error) {
    return `The expression ${(error as Error).message}.`;
  }
}

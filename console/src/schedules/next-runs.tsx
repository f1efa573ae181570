import { nextTimes } from '../../../src/schedules/calendar/next-times.js';
import { isTimeZone } from '../../../src/schedules/calendar/zone.js';
import { formatDateTime } from '../parts/format.js';

const SHOWN = 5;

/** The next runs of an expression while it is typed, by the calculation of the service. */
export function NextRuns({ cron, timezone }: { cron: string; timezone: string }) {
  const next = timesOf(cron, timezone);
  if (typeof next === 'string') return <span class="hint">{next}</span>;
  return (
    <ol class="hint" aria-label="Next runs">
      {next.map((time) => (
        <li key={time}>{formatDateTime(new Date(time).toISOString())}</li>
      ))}
    </ol>
  );
}

/** The times, or what is wrong with the expression. */
function timesOf(cron: string, timezone: string): number[] | string {
  if (!isTimeZone(timezone)) return 'The time zone is not known. An example: Europe/Berlin';
  try {
    const times = nextTimes({ cron, at: null, timezone, endAt: null }, Date.now(), SHOWN);
    return times.length === 0 ? 'The expression never fires.' : times;
  } catch (error) {
    return `The expression ${(error as Error).message}.`;
  }
}

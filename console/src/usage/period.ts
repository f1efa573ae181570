export const DAY_MS = 86_400_000;
const DAYS = [7, 30, 90];
const MONTHS = 12;
export const DEFAULT_PERIOD = '30';

/** A time of whole days of UTC, as the groups of usage are. */
export interface Period {
  from: Date;
  /** Exclusive. */
  to: Date;
}

/** The periods to choose from, with their labels: the last days as a number, a month as `2026-05`. */
export function periods(now = new Date()): [period: string, label: string][] {
  const months = Array.from({ length: MONTHS }, (_, back) => {
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back));
    const label = month.toLocaleDateString('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });
    return [month.toISOString().slice(0, 7), label] as [string, string];
  });
  return [...DAYS.map((days) => [String(days), `Last ${days} days`] as [string, string]), ...months];
}

export function periodOf(period: string, now = new Date()): Period {
  const [year, month] = period.split('-').map(Number);
  if (month !== undefined) {
    return { from: new Date(Date.UTC(year!, month - 1)), to: new Date(Date.UTC(year!, month)) };
  }
  const tomorrow = (Math.floor(now.getTime() / DAY_MS) + 1) * DAY_MS;
  return { from: new Date(tomorrow - Number(period) * DAY_MS), to: new Date(tomorrow) };
}

import { parseCron, type Cron } from './cron.js';
import { clockOfDay, wallTime } from './zone.js';

/** When a schedule runs: `cron` in `timezone`, or once `at`. Times are milliseconds since 1970. */
export interface Timing {
  cron: string | null;
  at: number | null;
  timezone: string;
  /** The last time that counts. */
  endAt: number | null;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** 29 February comes after eight years at the latest. */
const MAX_PAUSE_MS = 9 * 366 * DAY_MS;

/**
 * The first `count` times after a time, or as many as there are. A local time that does not exist on a day is skipped;
 * of one that exists twice the first counts (docs/decisions.md "Schedules").
 * @throws CronError
 */
export function nextTimes(timing: Timing, after: number, count: number): number[] {
  const times: number[] = [];
  if (count === 0) return times;
  for (const time of timesAfter(timing, after)) {
    times.push(time);
    if (times.length === count) break;
  }
  return times;
}

export function* timesAfter({ cron, at, timezone, endAt }: Timing, after: number): Generator<number> {
  const isOver = (time: number): boolean => endAt !== null && time > endAt;
  if (cron === null) {
    if (at !== null && at > after && !isOver(at)) yield at;
    return;
  }
  for (const time of cronTimes(parseCron(cron), timezone, after)) {
    if (isOver(time)) return;
    yield time;
  }
}

function* cronTimes(cron: Cron, zone: string, after: number): Generator<number> {
  let last = after;
  for (let day = dayOf(zone, after); day < last + MAX_PAUSE_MS; day = nextDay(cron, day)) {
    if (!matchesDay(cron, new Date(day))) continue;
    const timeOf = clockOfDay(zone, day);
    for (const hour of cron.hours) {
      for (const minute of cron.minutes) {
        const time = timeOf(day + hour * HOUR_MS + minute * MINUTE_MS);
        if (time === null || time <= after) continue;
        yield time;
        last = time;
      }
    }
  }
}

function dayOf(zone: string, time: number): number {
  return Math.floor(wallTime(zone, time) / DAY_MS) * DAY_MS;
}

function nextDay({ months }: Cron, day: number): number {
  const date = new Date(day);
  const month = date.getUTCMonth();
  return months.has(month + 1) ? day + DAY_MS : Date.UTC(date.getUTCFullYear(), month + 1, 1);
}

function matchesDay({ months, daysOfMonth, daysOfWeek, eitherDay }: Cron, date: Date): boolean {
  if (!months.has(date.getUTCMonth() + 1)) return false;
  const [ofMonth, ofWeek] = [daysOfMonth.has(date.getUTCDate()), daysOfWeek.has(date.getUTCDay())];
  return eitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}

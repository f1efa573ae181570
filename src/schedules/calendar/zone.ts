const DAY_MS = 86_400_000;
/** A formatter takes tens of kilobytes and a millisecond to make. */
const MAX_FORMATTERS = 100;
const formatters = new Map<string, Intl.DateTimeFormat>();

function formatterOf(zone: string): Intl.DateTimeFormat {
  const known = formatters.get(zone);
  if (known !== undefined) return known;
  if (formatters.size >= MAX_FORMATTERS) formatters.clear();
  const formatter = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formatters.set(zone, formatter);
  return formatter;
}

/** True for a name of the IANA time zone database. Offsets such as `+01:00` are none. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) return false;
  try {
    return formatterOf(name) !== undefined;
  } catch {
    return false;
  }
}

/** What clocks in the zone show at a time, as if it was UTC, in milliseconds. */
export function wallTime(zone: string, time: number): number {
  const [month, day, year, hour, minute, second] = formatterOf(zone).format(time).match(/\d+/g)!.map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

function offset(zone: string, time: number): number {
  return wallTime(zone, time) - Math.floor(time / 1000) * 1000;
}

/**
 * Returns a function that turns the wall times of one day into times: the first one where clocks show it twice, null
 * where they skip it. `day` is the day's midnight as a wall time.
 */
export function clockOfDay(zone: string, day: number): (wall: number) => number | null {
  // Offsets are at most 14 hours: whichever is in force during the day is in force a day before or after it.
  const before = offset(zone, day - DAY_MS);
  const after = offset(zone, day + 2 * DAY_MS);
  if (before === after) return (wall) => wall - before;
  const isShown = (wall: number, time: number): boolean => wallTime(zone, time) === wall;
  return (wall) => {
    const candidates = [wall - before, wall - after].filter((time) => isShown(wall, time));
    return candidates.length === 0 ? null : Math.min(...candidates);
  };
}

/**
 * Converts Postgres' text of a timestamptz in UTC ("2026-11-21 09:48:03.1234+00") to ISO 8601 with six digits and `Z`
 * (contract.md §2). A JavaScript Date would lose the microseconds.
 */
export function isoFromPostgres(text: string): string {
  const [, date, time, fraction = ''] = /^(\S+) (\d\d:\d\d:\d\d)(?:\.(\d+))?\+00$/.exec(text) ?? [];
  if (date === undefined || time === undefined) throw new RangeError(`not a UTC timestamp of Postgres: ${text}`);
  return `${date}T${time}.${fraction.padEnd(6, '0')}Z`;
}

/** The current time in the service's format, with microseconds from the process' clock. */
export function isoNow(): string {
  const micros = Math.floor((performance.timeOrigin + performance.now()) * 1000);
  const millis = Math.floor(micros / 1000);
  return `${new Date(millis).toISOString().slice(0, -1)}${String(micros % 1000).padStart(3, '0')}Z`;
}

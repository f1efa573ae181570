/**
 * Converts Postgres' text of a timestamptz in UTC ("2026-11-21 09:48:03.1234+00") to ISO 8601 with six digits and `Z`
 * (decisions.md "Resources"). A JavaScript Date would lose the microseconds.
 */
export function isoFromPostgres(text: string): string {
  const [, date, time, fraction = ''] = /^(\S+) (\d\d:\d\d:\d\d)(?:\.(\d+))?\+00$/.exec(text) ?? [];
  if (date === undefined || time === undefined) throw new RangeError(`not a UTC timestamp of Postgres: ${text}`);
  return `${date}T${time}.${fraction.padEnd(6, '0')}Z`;
}

/**
 * A client's timestamp (RFC 3339, with any offset) in the service's format; null if there is no such time. Postgres
 * would refuse some of them, such as the year 0 or an offset of a day.
 */
export function utcTimestamp(text: string): string | null {
  const [, seconds, fraction = '', offset] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(text.toUpperCase()) ?? [];
  // A Date takes 30 February for 2 March.
  if (new Date(`${seconds}Z`).toJSON()?.slice(0, 19) !== seconds) return null;
  const time = new Date(`${seconds}${offset}`);
  if (Number.isNaN(time.getTime())) return null;
  const iso = time.toISOString();
  return /^[1-9]\d{3}-/.test(iso) ? `${iso.slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, '0')}Z` : null;
}

export function isoIn(milliseconds: number): string {
  return `${new Date(Date.now() + milliseconds).toISOString().slice(0, -1)}000Z`;
}

/** The current time in the service's format, with microseconds from the process' clock. */
export function isoNow(): string {
  const micros = Math.floor((performance.timeOrigin + performance.now()) * 1000);
  const millis = Math.floor(micros / 1000);
  return `${new Date(millis).toISOString().slice(0, -1)}${String(micros % 1000).padStart(3, '0')}Z`;
}

/** Microseconds since 1970 of a time in the service's format. They are whole numbers below 2^53. */
export function microsOf(iso: string): number {
  return Date.parse(`${iso.slice(0, 19)}Z`) * 1000 + Number(iso.slice(20, 26));
}

export function isoOf(micros: number): string {
  const millis = Math.floor(micros / 1000);
  return `${new Date(millis).toISOString().slice(0, -1)}${String(micros - millis * 1000).padStart(3, '0')}Z`;
}

/** Whole milliseconds between two times. */
export function msBetween(from: string, to: string): number {
  return Math.round((microsOf(to) - microsOf(from)) / 1000);
}

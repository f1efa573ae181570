/** The fields of a cron expression, each as the set of its values. */
export interface Cron {
  minutes: readonly number[];
  hours: readonly number[];
  months: ReadonlySet<number>;
  daysOfMonth: ReadonlySet<number>;
  /** 0 is Sunday. */
  daysOfWeek: ReadonlySet<number>;
  /** Day of month and day of week are both given: a day matches either of them. */
  eitherDay: boolean;
}

/** The expression is not valid; `message` says what is wrong, as the end of a sentence that begins with the field's name. */
export class CronError extends Error {}

interface Field {
  name: string;
  min: number;
  max: number;
  /** Names of the values from `min` on. */
  names?: readonly string[];
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const DAY_MINUTES = 1440;
/** Sunday is 0 and 7. */
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const FIELDS: readonly [Field, Field, Field, Field, Field] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, names: MONTHS },
  { name: 'day of week', min: 0, max: 7, names: DAYS },
];

/**
 * Parses five fields with numbers, names, lists, ranges and steps (docs/decisions.md "Schedules").
 * @throws CronError
 */
export function parseCron(text: string): Cron {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== FIELDS.length) {
    throw new CronError('must have five fields: minute, hour, day of month, month, day of week');
  }
  const [minutes, hours, daysOfMonth, months, daysOfWeek] = FIELDS.map((field, index) =>
    valuesOf(fields[index]!, field),
  ) as [number[], number[], number[], number[], number[]];
  return {
    minutes,
    hours,
    months: new Set(months),
    daysOfMonth: new Set(daysOfMonth),
    daysOfWeek: new Set(daysOfWeek.map((day) => day % 7)),
    eitherDay: fields[2] !== '*' && fields[4] !== '*',
  };
}

/** The shortest time between two times of a day, or between the last of a day and the first of the next, by the clock on the wall. */
export function shortestPauseMinutes({ hours, minutes }: Pick<Cron, 'hours' | 'minutes'>): number {
  const times = hours.flatMap((hour) => minutes.map((minute) => hour * 60 + minute));
  const next = [...times.slice(1), times[0]! + DAY_MINUTES];
  return Math.min(...times.map((time, index) => next[index]! - time));
}

function valuesOf(text: string, field: Field): number[] {
  const values = text.split(',').flatMap((item) => itemValues(item, field));
  return [...new Set(values)].sort((a, b) => a - b);
}

/** `*`, `a` or `a-b`, each with an optional `/step`; `a/step` goes on to the largest value. */
function itemValues(item: string, field: Field): number[] {
  const [, range, from, to, step] = /^(\*|(\w+)(?:-(\w+))?)(?:\/(\d{1,4}))?$/.exec(item) ?? [];
  if (range === undefined) throw new CronError(`has a ${field.name} that cannot be read: ${item}`);
  const every = step === undefined ? 1 : Number(step);
  if (every === 0) throw new CronError(`has a ${field.name} with a step of 0`);
  const start = range === '*' ? field.min : valueOf(from!, field);
  const end = endOf({ range, to, step, start }, field);
  if (end < start) throw new CronError(`has a ${field.name} whose range ends before it begins: ${item}`);
  const values = [];
  for (let value = start; value <= end; value += every) values.push(value);
  return values;
}

function endOf(
  { range, to, step, start }: { range: string; to: string | undefined; step: string | undefined; start: number },
  field: Field,
): number {
  // `*` of the day of week ends with Saturday: 7 is Sunday again.
  const last = field.names === DAYS ? 6 : field.max;
  if (range === '*') return last;
  if (to === undefined) return step === undefined ? start : last;
  const end = valueOf(to, field);
  return field.names === DAYS && end === 0 && start > 0 && !/^\d/.test(to) ? 7 : end;
}

function valueOf(text: string, { name, min, max, names }: Field): number {
  const named = names?.indexOf(text.toUpperCase()) ?? -1;
  if (named >= 0) return named + min;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new CronError(`has a ${name} that is not ${min} to ${max}${names ? ' or a name' : ''}: ${text}`);
}

import { expect } from 'chai';
import { parseCron, shortestPauseMinutes } from '../../../src/schedules/calendar/cron.js';
import { nextTimes } from '../../../src/schedules/calendar/next-times.js';
import { isTimeZone } from '../../../src/schedules/calendar/zone.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** More by hand: NEXT_TIMES_CASES=20000 npx mocha test/src/schedules/next-times.long.test.ts */
const CASES = Number(process.env.NEXT_TIMES_CASES ?? 150);
/** Less than the time between any two changes of one zone: Morocco changes its clocks for Ramadan. */
const STEP_MS = 10 * DAY_MS;
/** Times compared around a change of clocks. */
const AROUND_MS = 36 * 3_600_000;

/** A generator of numbers below `below` that gives the same ones each time. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface Local {
  minute: number;
  hour: number;
  day: number;
  month: number;
  weekday: number;
  text: string;
}

/** What clocks in a zone show, by another way than the service's. */
function clockIn(zone: string): (time: number) => Local {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  return (time) => {
    const text = format.format(time);
    const [year, month, day, hour, minute] = text.split(/\D/).map(Number) as [number, number, number, number, number];
    return { minute, hour, day, month, weekday: new Date(Date.UTC(year, month - 1, day)).getUTCDay(), text };
  };
}

type Pick = (below: number) => number;

/** A field of an expression, and the values that it means. */
function field(pick: Pick, min: number, max: number): { text: string; values: Set<number> } {
  const all = Array.from({ length: max - min + 1 }, (_, n) => min + n);
  switch (pick(5)) {
    case 0: {
      const step = 1 + pick(7);
      return { text: `*/${step}`, values: new Set(all.filter((value) => (value - min) % step === 0)) };
    }
    case 1: {
      const [from, to] = [min + pick(all.length), min + pick(all.length)].sort((a, b) => a - b) as [number, number];
      return { text: `${from}-${to}`, values: new Set(all.filter((value) => value >= from && value <= to)) };
    }
    case 2: {
      const values = [min + pick(all.length), min + pick(all.length)];
      return { text: values.join(','), values: new Set(values) };
    }
    case 3: {
      const value = min + pick(all.length);
      return { text: `${value}`, values: new Set([value]) };
    }
    default:
      return { text: '*', values: new Set(all) };
  }
}

/** Every change of clocks of 2026 and 2027, in the zones that have different ones. */
function changes(): { zone: string; at: number }[] {
  const found = new Map<string, { zone: string; at: number }>();
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    const clock = clockIn(zone);
    const offset = (time: number): number => Date.parse(`${clock(time).text.replace(' ', 'T')}Z`) - time;
    let before = offset(Date.UTC(2026, 0, 1));
    for (let day = Date.UTC(2026, 0, 1); day < Date.UTC(2028, 0, 1); day += STEP_MS) {
      const after = offset(day + STEP_MS);
      if (before === after) continue;
      let [low, high] = [day, day + STEP_MS];
      while (high - low > MINUTE_MS) {
        const middle = low + Math.floor((high - low) / (2 * MINUTE_MS)) * MINUTE_MS;
        if (offset(middle) === before) low = middle;
        else high = middle;
      }
      found.set(`${high} ${before} ${after}`, { zone, at: high });
      before = after;
    }
  }
  return [...found.values()];
}

describe('the next times of a schedule', () => {
  it(`the next times of a schedule are those of a calculation minute by minute, for ${CASES} expressions around every change of clocks`, function () {
    this.timeout(120_000);
    const pick = numbers(20_261_122);
    const all = changes();
    expect(all.length).to.be.greaterThan(40);
    const clocks = new Map<string, Local[]>();
    for (let number = 0; number < CASES; number += 1) {
      const { zone, at } = all[number % all.length]!;
      const from = Math.floor((at - AROUND_MS) / MINUTE_MS) * MINUTE_MS;
      const key = `${zone} ${at}`;
      if (!clocks.has(key)) {
        const clock = clockIn(zone);
        clocks.set(
          key,
          Array.from({ length: (2 * AROUND_MS) / MINUTE_MS }, (_, n) => clock(from + n * MINUTE_MS)),
        );
      }
      const [minutes, hours] = [field(pick, 0, 59), field(pick, 0, 23)];
      const [days, months, weekdays] = [field(pick, 1, 31), field(pick, 1, 12), field(pick, 0, 6)];
      const cron = [minutes, hours, days, months, weekdays].map(({ text }) => text).join(' ');
      const isEither = days.text !== '*' && weekdays.text !== '*';
      const shown = new Set<string>();
      const expected: number[] = [];
      clocks.get(key)!.forEach(({ minute, hour, day, month, weekday, text }, n) => {
        const [ofMonth, ofWeek] = [days.values.has(day), weekdays.values.has(weekday)];
        const isFirst = !shown.has(text);
        shown.add(text);
        if (!minutes.values.has(minute) || !hours.values.has(hour) || !months.values.has(month)) return;
        if (isFirst && (isEither ? ofMonth || ofWeek : ofMonth && ofWeek)) expected.push(from + n * MINUTE_MS);
      });
      const timing = { cron, at: null, timezone: zone, endAt: from + 2 * AROUND_MS - 1 };
      const times = nextTimes(timing, from - 1, expected.length + 1);
      expect(times.map(iso), `${cron} in ${zone} around ${iso(at)}`).to.deep.equal(expected.map(iso));
    }
  });

  it('the next times of a schedule skip a local time that does not exist, and take the first of one that exists twice', () => {
    const next = (cron: string, after: string): string[] =>
      nextTimes({ cron, at: null, timezone: 'Europe/Berlin', endAt: null }, Date.parse(after), 2).map(iso);
    expect(next('30 2 * * *', '2027-03-27T12:00:00Z')).to.deep.equal(['2027-03-29T00:30', '2027-03-30T00:30']);
    expect(next('30 2 * * *', '2027-10-30T12:00:00Z')).to.deep.equal(['2027-10-31T00:30', '2027-11-01T01:30']);
  });

  it('the next times of a schedule match either kind of day where both are given', () => {
    const timing = { cron: '0 0 13 * FRI', at: null, timezone: 'UTC', endAt: null };
    expect(nextTimes(timing, Date.parse('2026-12-08T00:00:00Z'), 3).map(iso)).to.deep.equal([
      ...['2026-12-11T00:00', '2026-12-13T00:00', '2026-12-18T00:00'],
    ]);
  });

  it('the next times of a schedule take names, ranges to Sunday, 7 as Sunday, and steps from a value', () => {
    const same = (one: string, other: string): void => {
      const of = (cron: string): number[] => nextTimes({ cron, at: null, timezone: 'UTC', endAt: null }, 0, 50);
      expect(of(one), one).to.deep.equal(of(other));
    };
    same('0 0 * jan-mar Sat-SUN', '0 0 * 1,2,3 0,6');
    same('0 0 * * 5-7', '0 0 * * 0,5,6');
    same('40/10 3 * * *', '40,50 3 * * *');
    same(' 0\t0  1 1 * ', '0 0 1 1 *');
  });

  it('the next times of a schedule come after years for 29 February, and never for 30 February', () => {
    const of = (cron: string): string[] =>
      nextTimes({ cron, at: null, timezone: 'UTC', endAt: null }, Date.parse('2096-03-01T00:00:00Z'), 1).map(iso);
    expect(of('0 0 29 2 *')).to.deep.equal(['2104-02-29T00:00']);
    expect(of('0 0 30 2 *')).to.deep.equal([]);
  });

  it('the next times of a schedule are as far apart as the closest two of a day, or the last of a day and the first of the next', () => {
    const pauses = [
      '* * * * *',
      '0 8 * * *',
      '*/5 * * * *',
      '0,50 8 * * *',
      '0 8,20 * * *',
      '30 0,23 * * *',
      '0 0 1 1 *',
    ];
    expect(pauses.map((cron) => shortestPauseMinutes(parseCron(cron)))).to.deep.equal([1, 1440, 5, 50, 720, 60, 1440]);
  });

  it('the next times of a schedule include the end, and nothing after it', () => {
    const [start, end] = ['2026-12-01T08:00:00Z', '2026-12-02T08:00:00Z'].map((text) => Date.parse(text)) as [
      number,
      number,
    ];
    const timing = { cron: '0 8 * * *', at: null, timezone: 'UTC', endAt: end };
    expect(nextTimes(timing, start, 5)).to.deep.equal([end]);
    expect(nextTimes({ ...timing, cron: null, at: end }, start, 5)).to.deep.equal([end]);
    expect(nextTimes({ ...timing, cron: null, at: end + 1000 }, start, 5)).to.deep.equal([]);
  });

  it('the next times of a schedule are read in zones of the IANA database', () => {
    for (const zone of ['UTC', 'Europe/Berlin', 'US/Pacific', 'Etc/GMT+5'])
      expect(isTimeZone(zone), zone).to.equal(true);
    for (const zone of ['', '+01:00', 'Berlin', 'Europe/', 'Z'.repeat(65)])
      expect(isTimeZone(zone), zone).to.equal(false);
  });
});

function iso(time: number): string {
  return new Date(time).toISOString().slice(0, 16);
}

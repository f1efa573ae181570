import { expect } from 'chai';
import { loadConfig } from '../../../src/platform/config.js';
import { nextAttempt, parseRetryAfter } from '../../../src/webhooks/schedule.js';

const { webhookRetrySeconds: SCHEDULE } = loadConfig({
  DATABASE_URL: 'postgres://localhost/db',
  ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
});
const HOUR = 3600;

/** The pauses of a delivery that keeps failing, until it is given up. */
function pauses(random: number, retryAfter: number | null = null): number[] {
  const all: number[] = [];
  for (let used = 0, attempts = 1; ; attempts += 1) {
    const next = nextAttempt(SCHEDULE, { attempts, pauses: used }, retryAfter, () => random);
    if (next === null) return all;
    all.push(Math.round(next.afterSeconds));
    used = next.pauses;
  }
}

describe('the schedule of a delivery', () => {
  const planned = [5, 300, 1800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];

  it('has ten attempts, with jitter up to a tenth', () => {
    expect(pauses(0)).to.deep.equal(planned);
    expect(pauses(1)).to.deep.equal(planned.map((pause) => Math.round(pause * 1.1)));
  });

  it('waits longer where Retry-After says so, at most a day', () => {
    const hourly = pauses(0, HOUR);
    expect(hourly.slice(0, 3)).to.deep.equal([HOUR, HOUR, HOUR]);
    expect(hourly.slice(-6)).to.deep.equal(planned.slice(-6));
    expect(nextAttempt(SCHEDULE, { attempts: 1, pauses: 0 }, 10 ** 8, () => 0)).to.deep.equal({
      afterSeconds: 24 * HOUR,
      pauses: 1,
    });
  });

  it('comes earlier where Retry-After says so, without giving the delivery up earlier', () => {
    expect(nextAttempt(SCHEDULE, { attempts: 1, pauses: 0 }, 0, () => 0)).to.deep.equal({ afterSeconds: 1, pauses: 0 });
    const impatient = pauses(0, 2);
    expect(impatient.slice(0, 10)).to.deep.equal(Array(10).fill(2));
    expect(impatient.slice(10)).to.deep.equal(planned);
  });
});

describe('Retry-After', () => {
  const now = Date.UTC(2026, 10, 21, 20, 0, 0);

  it('counts in seconds, or is a date', () => {
    expect(parseRetryAfter('120', now)).to.equal(120);
    expect(parseRetryAfter(' 0 ', now)).to.equal(0);
    expect(parseRetryAfter('Sat, 21 Nov 2026 20:01:30 GMT', now)).to.equal(90);
    expect(parseRetryAfter('Saturday, 21-Nov-26 20:01:30 GMT', now)).to.equal(90);
    expect(parseRetryAfter('Sat Nov 21 20:01:30 2026 GMT', now)).to.equal(90);
    expect(parseRetryAfter('Sat, 21 Nov 2026 19:00:00 GMT', now), 'in the past').to.equal(0);
  });

  it('is ignored when it is neither', () => {
    for (const text of [null, '', '-1', '1.5', 'soon', '2026-11-21T20:01:30Z', '12345678901', 'Nov 31'])
      expect(parseRetryAfter(text, now), String(text)).to.equal(null);
  });
});

import { expect } from 'chai';
import { loadConfig } from '../../../src/platform/config.js';
import { nextAttempt } from '../../../src/webhooks/schedule.js';

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

  it('the schedule of a delivery has ten attempts, with jitter up to a tenth', () => {
    expect(pauses(0)).to.deep.equal(planned);
    expect(pauses(1)).to.deep.equal(planned.map((pause) => Math.round(pause * 1.1)));
  });

  it('the schedule of a delivery waits longer if Retry-After asks for it, at most a day', () => {
    const hourly = pauses(0, HOUR);
    expect(hourly.slice(0, 3)).to.deep.equal([HOUR, HOUR, HOUR]);
    expect(hourly.slice(-6)).to.deep.equal(planned.slice(-6));
    expect(nextAttempt(SCHEDULE, { attempts: 1, pauses: 0 }, 10 ** 8, () => 0)).to.deep.equal({
      afterSeconds: 24 * HOUR,
      pauses: 1,
    });
  });

  it('the schedule of a delivery retries earlier if Retry-After asks for it, without giving the delivery up earlier', () => {
    expect(nextAttempt(SCHEDULE, { attempts: 1, pauses: 0 }, 0, () => 0)).to.deep.equal({ afterSeconds: 1, pauses: 0 });
    const impatient = pauses(0, 2);
    expect(impatient.slice(0, 10)).to.deep.equal(Array(10).fill(2));
    expect(impatient.slice(10)).to.deep.equal(planned);
  });
});

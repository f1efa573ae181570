import { expect } from 'chai';
import { parseRetryAfter } from '../../../src/platform/retry-after.js';

describe('Retry-After', () => {
  const now = Date.UTC(2026, 10, 21, 20, 0, 0);

  it('Retry-After counts in seconds, or is a date', () => {
    expect(parseRetryAfter('120', now)).to.equal(120);
    expect(parseRetryAfter(' 0 ', now)).to.equal(0);
    expect(parseRetryAfter('Sat, 21 Nov 2026 20:01:30 GMT', now)).to.equal(90);
    expect(parseRetryAfter('Saturday, 21-Nov-26 20:01:30 GMT', now)).to.equal(90);
    expect(parseRetryAfter('Sat Nov 21 20:01:30 2026 GMT', now)).to.equal(90);
    expect(parseRetryAfter('Sat, 21 Nov 2026 19:00:00 GMT', now), 'in the past').to.equal(0);
  });

  it('Retry-After is ignored when it is neither', () => {
    for (const text of [null, '', '-1', '1.5', 'soon', '2026-11-21T20:01:30Z', '12345678901', 'Nov 31'])
      expect(parseRetryAfter(text, now), String(text)).to.equal(null);
  });
});

import { expect } from 'chai';
import { retryDelay } from '../../../activities/model/retry-delay.js';
import type { ModelFailure } from '../../../src/steps/model-call.js';

const overloaded: ModelFailure = { type: 'model_overloaded', message: '', retryable: true };

/** Seconds from the first failure at which a model that fails at once is called again. */
function attemptsOf(failure: ModelFailure, retrySeconds = 300): number[] {
  const times: number[] = [];
  for (let failingForMs = 0, failures = 0; ; failures += 1) {
    const delay = retryDelay(failure, { failures, failingForMs }, retrySeconds);
    if (delay === null) return times;
    failingForMs += delay;
    times.push(failingForMs / 1000);
  }
}

/** decisions.md "Results", "A model that is away". */
describe('a model that is away', () => {
  it('a model that is away is tried again with growing pauses of at most 30 s, and a last time at the end', () => {
    expect(attemptsOf(overloaded)).to.deep.equal([1, 3, 7, 15, 31, 61, 91, 121, 151, 181, 211, 241, 271, 299.9]);
    expect(attemptsOf(overloaded, 61)).to.deep.equal([1, 3, 7, 15, 31, 60.9]);
    expect(attemptsOf(overloaded, 2.5)).to.deep.equal([1, 2.4]);
    expect(attemptsOf(overloaded, 0)).to.deep.equal([]);
  });

  it('a model that is away is not tried again where that cannot help', () => {
    expect(attemptsOf({ ...overloaded, retryable: false })).to.deep.equal([]);
  });

  it('a model that is away is tried when it asks for, unless that is beyond the end', () => {
    expect(attemptsOf({ ...overloaded, retryAfterMs: 100_000 })).to.deep.equal([100, 200, 300]);
    expect(attemptsOf({ ...overloaded, retryAfterMs: 300_001 })).to.deep.equal([]);
    expect(attemptsOf({ ...overloaded, retryAfterMs: 160_000 })).to.deep.equal([160]);
  });

  it('a model that is away is not called without end when it asks for no pause', () => {
    const times = attemptsOf({ ...overloaded, retryAfterMs: 0 });
    expect(times.slice(0, 6)).to.deep.equal([0, 0, 0, 0, 0, 30]);
    expect(times).to.have.length(15);
    expect(times.at(-1)).to.equal(299.9);
  });
});

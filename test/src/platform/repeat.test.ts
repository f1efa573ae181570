import { expect } from 'chai';
import { repeat } from '../../../src/platform/repeat.js';

/** A round that the test ends, and how often one has begun. */
function rounds(): {
  round: () => Promise<number>;
  begun: () => number;
  end: (pauseMs: number) => void;
  nextBegin: () => Promise<void>;
} {
  let count = 0;
  let end: (pauseMs: number) => void = () => undefined;
  let told: () => void = () => undefined;
  return {
    round() {
      count += 1;
      told();
      return new Promise((resolve) => {
        end = resolve;
      });
    },
    begun: () => count,
    end: (pauseMs) => end(pauseMs),
    nextBegin: () =>
      new Promise((resolve) => {
        told = resolve;
      }),
  };
}

const HOUR = 3_600_000;

describe('rounds that repeat', () => {
  it('a round that is asked for begins before its pause has passed', async () => {
    const { round, begun, end, nextBegin } = rounds();
    const repeated = repeat(HOUR, round);
    const first = nextBegin();
    repeated.soon(0);
    repeated.soon(HOUR);
    await first;
    expect(begun()).to.equal(1);
    end(HOUR);
    await repeated.stop();
  });

  it('a round that is asked for while one runs begins after it, once', async () => {
    const { round, begun, end, nextBegin } = rounds();
    const repeated = repeat(0, round);
    await nextBegin();
    repeated.soon(0);
    repeated.soon(0);
    const second = nextBegin();
    end(HOUR);
    await second;
    end(HOUR);
    await repeated.stop();
    expect(begun()).to.equal(2);
  });

  it('no round begins once it was stopped', async () => {
    const { round, begun, end, nextBegin } = rounds();
    const repeated = repeat(0, round);
    await nextBegin();
    const stopped = repeated.stop();
    end(0);
    await stopped;
    repeated.soon(0);
    await new Promise((resolve) => setImmediate(() => setTimeout(resolve, 1)));
    expect(begun()).to.equal(1);
  });
});

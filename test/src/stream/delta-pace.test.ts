import { expect } from 'chai';
import { setTimeout as pause } from 'node:timers/promises';
import { DeltaPace, windowOf } from '../../../src/stream/delta-pace.js';

describe('the time between two sendings of deltas', () => {
  it('the time between two sendings of deltas is 16 ms in an idle process, and grows with its load to 50 ms', () => {
    expect([0, 0.1].map(windowOf)).to.deep.equal([16, 16]);
    const shares = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
    const windows = shares.map(windowOf);
    expect(windows).to.deep.equal(windows.toSorted((a, b) => a - b));
    expect(windowOf(0.35)).to.be.closeTo(33, 0.01);
    expect([0.6, 0.8, 1].map(windowOf)).to.deep.equal([50, 50, 50]);
  });

  it('the time between two sendings of deltas follows the event loop of this process', async () => {
    const pace = new DeltaPace();
    const work = (ms: number): void => {
      for (const end = performance.now() + ms; performance.now() < end;);
    };
    for (let round = 0; round < 5; round += 1) {
      work(120);
      await pause(0);
    }
    const busy = pace.windowMs;
    expect(busy).to.be.greaterThan(30);
    await pause(2000);
    expect(pace.windowMs).to.be.lessThan(busy);
  });
});

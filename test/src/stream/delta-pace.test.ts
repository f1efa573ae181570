import { expect } from 'chai';
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

  it('the time between two sendings of deltas follows the event loop of its process', () => {
    const measured = { idle: 0, active: 0 };
    /** The event loop of another process, whose time passes as the test says. */
    const loop = {
      now: () => measured.idle + measured.active,
      eventLoopUtilization: (now?: typeof measured, before?: typeof measured) => {
        const { idle, active } = now ?? measured;
        const since = { idle: idle - (before?.idle ?? 0), active: active - (before?.active ?? 0) };
        return { ...since, utilization: since.active / (since.idle + since.active) };
      },
    };
    const pace = new DeltaPace(loop);
    const windowAfter = (active: number, idle: number): number => {
      measured.active += active;
      measured.idle += idle;
      return pace.windowMs;
    };
    expect(windowAfter(5, 95)).to.equal(16);
    expect(windowAfter(50, 40), 'measured again after 100 ms').to.equal(16);
    expect(windowAfter(95, 5), 'half of a long task').to.be.closeTo(33, 0.01);
    const busy = [1, 2, 3, 4, 5].map(() => windowAfter(100, 0)).at(-1)!;
    expect(busy).to.be.closeTo(50, 1);
    const idle = [1, 2, 3, 4, 5, 6, 7].map(() => windowAfter(0, 100)).at(-1)!;
    expect(idle).to.be.closeTo(16, 1);
  });
});

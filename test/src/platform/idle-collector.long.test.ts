import { expect } from 'chai';
import { collectWhenIdle } from '../../../src/platform/idle-collector.js';
import { eventually } from '../../support/eventually.js';
import { heapInUse } from '../../support/heap.js';
import { MIB } from '../../../src/platform/units.js';

describe('the memory of an idle process', () => {
  const buffers = (): number => process.memoryUsage().arrayBuffers;

  /** Buffers that V8 has found in use twice, so that only a full collection takes them. */
  const leaveGarbage = (): void => {
    const used = Array.from({ length: 200 }, () => Buffer.alloc(MIB));
    heapInUse();
    heapInUse();
    expect(used).to.have.length(200);
  };

  it('the memory of an idle process goes back when what requests left is garbage', async () => {
    heapInUse();
    const before = buffers();
    const stop = collectWhenIdle(100);
    try {
      leaveGarbage();
      expect(buffers() - before).to.be.greaterThan(100 * MIB);
      await eventually('the buffers are collected', () => buffers() - before < 50 * MIB);
    } finally {
      stop();
    }
  });
});

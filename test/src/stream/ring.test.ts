import { expect } from 'chai';
import { bytesOfFrame, MAX_BATCH_BYTES, type Frame } from '../../../src/stream/frames.js';
import { START } from '../../../src/stream/position.js';
import { RingMemory } from '../../../src/stream/ring.js';

const frame = (number: number, characters = 10_000, type = 'agent.message'): Frame => ({
  turnId: 'turn_1',
  position: [1, number, 0, 0],
  id: `turn-${number}`,
  type,
  json: 'x'.repeat(characters),
});
const numbersOf = (frames: Frame[] | null): number[] | undefined => frames?.map(({ position }) => position[1]);

describe('the ring of a session’s latest frames', () => {
  it('the ring of a session’s latest frames returns the frames after a position, the same array to equally advanced watchers', () => {
    const ring = new RingMemory().createRing();
    expect(ring.after(START)).to.equal(null);
    ring.begin(START);
    ring.append([frame(1), frame(2), frame(3)]);
    expect(numbersOf(ring.after([1, 1, 0, 0]))).to.deep.equal([2, 3]);
    expect(ring.after([1, 1, 0, 0])).to.equal(ring.after([1, 1, 0, 0]));
    ring.append([frame(4)]);
    expect(numbersOf(ring.after([1, 1, 0, 0]))).to.deep.equal([2, 3, 4]);
    expect(numbersOf(ring.after([1, 4, 0, 0]))).to.deep.equal([]);
  });

  it('the ring of a session’s latest frames returns a batch of limited memory to a watcher that is far behind', () => {
    const ring = new RingMemory().createRing();
    ring.begin(START);
    for (let number = 1; number <= 80; number += 1) ring.append([frame(number)]);
    const batch = ring.after(START)!;
    expect(batch.map(bytesOfFrame).reduce((sum, bytes) => sum + bytes, 0)).to.be.below(MAX_BATCH_BYTES + 11_000);
    const next = ring.after(batch.at(-1)!.position)!;
    expect(next[0]!.position[1]).to.equal(batch.length + 1);
    ring.append([frame(81, 5_000_000)]);
    expect(numbersOf(ring.after([1, 80, 0, 0]))).to.deep.equal([81]);
  });

  it('the ring of a session’s latest frames returns the frames of one turn at a time', () => {
    const ring = new RingMemory().createRing();
    ring.begin(START);
    const [end, next] = [frame(2, 10, 'turn.completed'), { ...frame(1), position: [2, 1, 0, 0] as const }];
    ring.append([frame(1), end, next]);
    expect(ring.after([1, 1, 0, 0])).to.deep.equal([end]);
    expect(ring.after(end.position)).to.deep.equal([next]);
  });

  it('the ring of a session’s latest frames gives up its oldest frames beyond a megabyte: they are read from the tables', () => {
    const ring = new RingMemory().createRing();
    ring.begin(START);
    for (let number = 1; number <= 300; number += 1) ring.append([frame(number)]);
    expect(ring.bytes).to.be.within(900_000, 1024 * 1024);
    expect(ring.after(START)).to.equal(null);
    expect(numbersOf(ring.after([1, 299, 0, 0]))).to.deep.equal([300]);
    ring.append([frame(301, 5_000_000)]);
    expect(numbersOf(ring.after([1, 300, 0, 0]))).to.deep.equal([301]);
  });

  it('the ring of a session’s latest frames shares a budget with the other rings of the process', () => {
    const budget = new RingMemory(1_000_000);
    const rings = Array.from({ length: 50 }, () => budget.createRing());
    for (const ring of rings) ring.begin(START);
    for (let number = 1; number <= 40; number += 1) {
      for (const ring of rings) ring.append([frame(number)]);
      expect(budget.used).to.be.at.most(1_000_000);
    }
    for (const ring of rings) {
      expect(numbersOf(ring.after([1, 39, 0, 0]))).to.deep.equal([40]);
      ring.clear();
    }
    expect(budget.used).to.equal(0);
  });
});

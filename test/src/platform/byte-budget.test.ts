import { expect } from 'chai';
import { MemoryShare } from '../../../src/platform/byte-budget.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a byte budget', () => {
  /** Asks for a share and notes its name once it has it. */
  const asker = (budget: MemoryShare) => {
    const admitted: string[] = [];
    const releases = new Map<string, () => void>();
    const ask = (name: string, bytes: number, signal?: AbortSignal, projectId?: string): Promise<void> =>
      budget.take(bytes, signal, projectId).then((release) => {
        admitted.push(name);
        releases.set(name, release);
      });
    return { admitted, ask, release: (name: string) => releases.get(name)!() };
  };

  it('a byte budget admits requests that fit, and the rest in the order of arrival', async () => {
    const { admitted, ask, release } = asker(new MemoryShare(10));
    await ask('a', 6);
    void ask('b', 6);
    // It would fit beside a, but b was first.
    void ask('c', 2);
    await settled();
    expect(admitted).to.deep.equal(['a']);
    release('a');
    await settled();
    expect(admitted).to.deep.equal(['a', 'b', 'c']);
  });

  it('a byte budget admits one that is larger than the budget alone', async () => {
    const budget = new MemoryShare(10);
    const { admitted, ask, release } = asker(budget);
    await ask('small', 1);
    void ask('huge', 1000);
    void ask('next', 1);
    await settled();
    expect(admitted).to.deep.equal(['small']);
    release('small');
    await settled();
    expect(admitted).to.deep.equal(['small', 'huge']);
    release('huge');
    await settled();
    expect(admitted).to.deep.equal(['small', 'huge', 'next']);
    release('next');
    expect(budget.used).to.equal(0);
  });

  it('a byte budget drops requests that stop waiting, and admits those behind them', async () => {
    const budget = new MemoryShare(10);
    const { admitted, ask, release } = asker(budget);
    await ask('a', 6);
    const cancel = new AbortController();
    const cancelled = ask('b', 9, cancel.signal).catch((error: unknown) => error);
    void ask('c', 4);
    cancel.abort(new Error('cancelled'));
    expect(await cancelled).to.have.property('message', 'cancelled');
    await settled();
    expect(admitted).to.deep.equal(['a', 'c']);
    expect(budget.waiting).to.equal(0);
    release('a');
    release('a');
    expect(budget.used).to.equal(4);
  });

  it('a byte budget gives one project at most its part, and the rest to others', async () => {
    const budget = new MemoryShare(10, 5);
    const { admitted, ask, release } = asker(budget);
    void ask('a1', 4, undefined, 'a');
    void ask('a2', 4, undefined, 'a');
    void ask('a3', 1000, undefined, 'a');
    void ask('b1', 5, undefined, 'b');
    await settled();
    expect(admitted).to.deep.equal(['a1', 'b1']);
    release('a1');
    await settled();
    expect(admitted).to.deep.equal(['a1', 'b1', 'a2']);
    release('a2');
    await settled();
    expect(admitted.at(-1), 'counts as the part of a project').to.equal('a3');
    expect([budget.used, budget.waiting]).to.deep.equal([10, 0]);
  });

  it('a byte budget lets waiting projects take turns, and no request overtake the next one', async () => {
    const { admitted, ask, release } = asker(new MemoryShare(4, 4));
    await ask('first', 4, undefined, 'a');
    for (const name of ['a1', 'a2', 'a3']) void ask(name, 4, undefined, 'a');
    void ask('b1', 4, undefined, 'b');
    void ask('c1', 3, undefined, 'c');
    void ask('c2', 1, undefined, 'c');
    for (let round = 0; round < 6; round += 1) {
      release(admitted.at(-1)!);
      await settled();
    }
    // c2 would fit beside c1, but it is the turn of a2.
    expect(admitted).to.deep.equal(['first', 'a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  });
});

import { expect } from 'chai';
import { ByteBudget } from '../../../src/platform/byte-budget.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a byte budget', () => {
  /** Asks for a share and notes its name once it has it. */
  const asker = (budget: ByteBudget) => {
    const admitted: string[] = [];
    const releases = new Map<string, () => void>();
    const ask = (name: string, bytes: number, signal?: AbortSignal): Promise<void> =>
      budget.take(bytes, signal).then((release) => {
        admitted.push(name);
        releases.set(name, release);
      });
    return { admitted, ask, release: (name: string) => releases.get(name)!() };
  };

  it('admits requests that fit, and the rest in the order of arrival', async () => {
    const { admitted, ask, release } = asker(new ByteBudget(10));
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

  it('admits one that is larger than the budget alone', async () => {
    const budget = new ByteBudget(10);
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

  it('forgets who stops waiting, and lets those behind pass', async () => {
    const budget = new ByteBudget(10);
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
});

import { expect } from 'chai';
import { MemoryShare } from '../../../src/platform/memory-share.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a share of memory', () => {
  /** Asks for a share and notes its name once it has it. */
  const asker = (memory: MemoryShare) => {
    const admitted: string[] = [];
    const releases = new Map<string, () => void>();
    const ask = (name: string, bytes: number, signal?: AbortSignal, projectId?: string): Promise<void> =>
      memory.take(bytes, signal, projectId).then((release) => {
        admitted.push(name);
        releases.set(name, release);
      });
    return { admitted, ask, release: (name: string) => releases.get(name)!() };
  };

  it('a share of memory admits requests that fit, and the rest in the order of arrival', async () => {
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

  it('a share of memory admits one that is larger than itself alone', async () => {
    const memory = new MemoryShare(10);
    const { admitted, ask, release } = asker(memory);
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
    expect(memory.used).to.equal(0);
  });

  it('a share of memory drops requests that stop waiting, and admits those behind them', async () => {
    const memory = new MemoryShare(10);
    const { admitted, ask, release } = asker(memory);
    await ask('a', 6);
    const cancel = new AbortController();
    const cancelled = ask('b', 9, cancel.signal).catch((error: unknown) => error);
    void ask('c', 4);
    cancel.abort(new Error('cancelled'));
    expect(await cancelled).to.have.property('message', 'cancelled');
    await settled();
    expect(admitted).to.deep.equal(['a', 'c']);
    expect(memory.waiting).to.equal(0);
    release('a');
    release('a');
    expect(memory.used).to.equal(4);
  });

  it('a share of memory gives one project at most its part, and the rest to others', async () => {
    const memory = new MemoryShare(10, 5);
    const { admitted, ask, release } = asker(memory);
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
    expect([memory.used, memory.waiting]).to.deep.equal([10, 0]);
  });

  it('a share of memory lets waiting projects take turns, and no request overtake the next one', async () => {
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

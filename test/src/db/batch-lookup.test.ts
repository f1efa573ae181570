import { expect } from 'chai';
import { BatchLookup } from '../../../src/db/batch-lookup.js';

describe('a batch lookup', () => {
  let queries: { presented: string[]; answer: (found: string[]) => void; fail: (error: Error) => void }[];
  let lookup: BatchLookup<string>;
  beforeEach(() => {
    queries = [];
    lookup = new BatchLookup(
      (presented) =>
        new Promise((resolve, reject) => {
          const answer = (found: string[]): void => resolve(new Map(found.map((name) => [name, `row of ${name}`])));
          queries.push({ presented, answer, fail: reject });
        }),
    );
  });

  it('a batch lookup uses two connections, however many values are presented', async () => {
    const found = Promise.all(Array.from({ length: 2500 }, (_, number) => lookup.lookUp(String(number))));
    expect(queries.map(({ presented }) => presented.length)).to.deep.equal([1, 1]);
    const sizes: number[] = [];
    for (let next = queries.shift(); next !== undefined; next = queries.shift()) {
      expect(queries.length).to.be.below(2);
      sizes.push(next.presented.length);
      next.answer(next.presented.filter((name) => name === '7'));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(sizes).to.deep.equal([1, 1, 1000, 1000, 498]);
    expect((await found).filter((row) => row !== null)).to.deep.equal(['row of 7']);
  });

  it('a batch lookup asks once for the same value', async () => {
    void lookup.lookUp('a');
    void lookup.lookUp('b');
    const both = [lookup.lookUp('c'), lookup.lookUp('c')];
    queries.shift()!.answer([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(queries.at(-1)!.presented).to.deep.equal(['c']);
    queries.at(-1)!.answer(['c']);
    expect(await Promise.all(both)).to.deep.equal(['row of c', 'row of c']);
  });

  it('a batch lookup goes on after a query that failed', async () => {
    const failing = lookup.lookUp('a').catch((error: Error) => error.message);
    queries.shift()!.fail(new Error('Postgres is away'));
    expect(await failing).to.equal('Postgres is away');
    const next = lookup.lookUp('b');
    queries.shift()!.answer(['b']);
    expect(await next).to.equal('row of b');
  });
});

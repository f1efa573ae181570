import { expect } from 'chai';
import fc from 'fast-check';
import { sortInPieces } from '../../../src/platform/sort-in-pieces.js';

describe('a sort in pieces', () => {
  it('a sort in pieces gives what `toSorted` gives, equal ones in their order', async () => {
    const lists = fc.array(fc.record({ key: fc.nat(20), at: fc.nat() }), { maxLength: 2000, size: 'max' });
    const byKey = (a: { key: number }, b: { key: number }): number => a.key - b.key;
    await fc.assert(
      fc.asyncProperty(lists, async (list) => {
        expect(await sortInPieces(list, byKey)).to.deep.equal(list.toSorted(byKey));
      }),
      { numRuns: 30 },
    );
  });
});

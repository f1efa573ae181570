import { expect } from 'chai';
import { compareLines } from '../../console/src/agents/compare.js';

describe('the comparison of two versions', () => {
  for (const [before, after, expected] of [
    ['a\nb', 'a\nb', ' a\n b'],
    ['a\nb\nc', 'a\nx\nc', ' a\n-b\n+x\n c'],
    ['a', 'a\nb', ' a\n+b'],
    ['a\nb', 'b', '-a\n b'],
    ['', 'a', '-\n+a'],
  ] as const) {
    it(`the comparison of ${JSON.stringify(before)} and ${JSON.stringify(after)} says which lines changed`, () => {
      const signs = { same: ' ', removed: '-', added: '+' };
      expect(
        compareLines(before, after)
          .map(({ kind, text }) => signs[kind] + text)
          .join('\n'),
      ).to.equal(expected);
    });
  }

  it('the comparison of two long texts shows both whole', () => {
    const lines = compareLines('a\n'.repeat(2000), 'b\n'.repeat(2000));
    expect([lines[0]!.kind, lines.at(-1)!.kind]).to.deep.equal(['removed', 'added']);
  });
});

import { expect } from 'chai';
import { foldCase } from '../../../src/platform/fold-case.js';

describe('texts that differ in case alone', () => {
  for (const [script, ...texts] of [
    ['German', 'Größe', 'größe', 'GRÖẞE', 'GRÖSSE', 'grösse'],
    ['Turkish', 'İstanbul', 'istanbul', 'ISTANBUL', 'ıstanbul', 'Istanbul'],
    ['Greek', 'ΟΔΟΣ', 'οδος', 'οδοσ', 'Οδος'],
    ['Greek with accents', 'Άνθρωπος', 'ΆΝΘΡΩΠΟΣ', 'άνθρωπος'],
    ['Cyrillic', 'Заказ', 'ЗАКАЗ', 'заказ'],
    ['Armenian', 'Երևան', 'ԵՐԵՒԱՆ', 'երեւան'],
    ['Georgian', 'თბილისი', 'ᲗᲑᲘᲚᲘᲡᲘ'],
    ['Cherokee', 'ᏣᎳᎩ', 'ꮳꮃꭹ'],
    ['Deseret, beyond 16 bits', '𐐔𐐯𐑅', '𐐼𐐯𐑅', '𐐔𐐇𐐝'],
    ['ligatures', 'ﬁne', 'FINE', 'fine'],
    ['combining marks', 'Größe', 'Gro\u0308ße', 'GRO\u0308SSE'],
    ['several marks', 'Ệ', 'e\u0302\u0323', 'E\u0323\u0302', 'ệ'],
    ['a dotted I in parts', 'I\u0307zmir', 'İzmir', 'izmir'],
  ]) {
    it(`texts that differ in case alone are equal once folded: ${script}`, () => {
      expect(new Set(texts.map(foldCase))).to.have.length(1);
    });
  }

  it('texts that differ in more than case stay different', () => {
    const texts = 'grobe große grosse gröse ολος οδος sehen śehen e é i j ï 1 か が カ'.split(' ');
    // ß is ss.
    expect(new Set(texts.map(foldCase))).to.have.length(texts.length - 1);
  });

  it('a folded text stays as it is when it is folded again', () => {
    const all = Array.from({ length: 0x2fff }, (_, n) => String.fromCodePoint(n));
    const changed = [...all, 'ΟΔΟΣ ΟΔΟΣ', 'Gro\u0308ße', 'I\u0307']
      .map(foldCase)
      .filter((text) => foldCase(text) !== text);
    expect(changed).to.deep.equal([]);
  });
});

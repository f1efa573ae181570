import { expect } from 'chai';
import fc from 'fast-check';
import { isStorableText, storableJson, storableText } from '../../../src/platform/text.js';

/** Any UTF-16, with many of the characters that matter. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(0, 0xd83d, 0xde00, 0x5c, 0x22, 0x75, 0x30, 0xfffd, 0x0a),
      fc.integer({ min: 0, max: 0xffff }),
    ),
    { maxLength: 12 },
  )
  .map((codes) => String.fromCharCode(...codes));
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.constantFrom(null, true, 1.5, '\\u0000', '\\\0'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(text, fc.constant('__proto__')), tie('value'), { maxKeys: 4 }),
  ),
}));

function withStorableText(given: unknown): unknown {
  if (typeof given === 'string') return storableText(given);
  if (Array.isArray(given)) return given.map(withStorableText);
  if (typeof given !== 'object' || given === null) return given;
  return Object.fromEntries(Object.entries(given).map(([key, inner]) => [storableText(key), withStorableText(inner)]));
}

describe('storable text', () => {
  it('storable text is what was given, with U+FFFD for each NUL and each half of a surrogate pair', () => {
    expect(storableText('a\0b\ud83dc\ude00d😀')).to.equal('a\ufffdb\ufffdc\ufffdd😀');
    fc.assert(fc.property(text, (given) => isStorableText(storableText(given))));
    fc.assert(fc.property(text, (given) => !isStorableText(given) || storableText(given) === given));
  });

  it('storable JSON has the same for each text of a value, keys included', () => {
    fc.assert(
      fc.property(value, (given) => {
        const json = JSON.stringify(given);
        expect(JSON.parse(storableJson(json))).to.deep.equal(withStorableText(JSON.parse(json)));
      }),
    );
  });
});

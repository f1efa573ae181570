import { expect } from 'chai';
import fc from 'fast-check';
import { exactText, isMarkedNumber, parseExact } from '../../../src/platform/exact-json.js';
import { jsonHash } from '../../../src/platform/json-hash.js';

describe('JSON with exact numbers', () => {
  for (const json of [
    '{"id":1189238471982374913}',
    '[9007199254740993,-9223372036854775808,18446744073709551615]',
    '{"deep":[{"a":"1189238471982374913 \\"9007199254740993\\\\"},123456789012345678901234567890]}',
    '[0.1234567890123456789,1e400,1e-400,12345678901234567890.5]',
    '{"9007199254740993":"key","\\u0000":9007199254740993}',
    '9007199254740993',
  ]) {
    it(`JSON with exact numbers comes out as it came in: ${json}`, () => {
      expect(exactText(parseExact(json))).to.equal(json);
      expect(exactText(JSON.parse(JSON.stringify(parseExact(json)))), 'through code that knows only JSON').to.equal(
        json,
      );
    });
  }

  it('JSON with exact numbers leaves the numbers that JavaScript keeps as they are', () => {
    const many = '[1,-2.5,1e3,0.1,9007199254740991,0.30000000000000004,1e21,[],"9007199254740993"]';
    for (const json of [many, '{}', '"x"']) expect(parseExact(json)).to.deep.equal(JSON.parse(json));
  });

  it('JSON with exact numbers refuses whatever JSON.parse refuses', () => {
    for (const json of ['{9007199254740993:1}', '[09007199254740993]', '9007199254740993x', '[1189238471982374913', ''])
      expect(() => parseExact(json), json).to.throw(SyntaxError);
  });

  it('JSON with exact numbers is the same text for any JSON with any integers', () => {
    const integer = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n });
    fc.assert(
      fc.property(fc.array(integer), fc.json(), (integers, json) => {
        const rest = JSON.stringify(JSON.parse(json));
        const text = `{"all":[${integers.join(',')}],"rest":${rest}}`;
        const back = exactText(parseExact(text));
        expect(back.slice(0, back.indexOf(']'))).to.equal(text.slice(0, text.indexOf(']')));
        expect(JSON.parse(back)).to.deep.equal(JSON.parse(text));
      }),
    );
  });

  it('JSON with exact numbers tells such a number from a text', () => {
    const [number, text] = parseExact('[9007199254740993,"9007199254740993"]') as string[];
    expect([isMarkedNumber(number!), isMarkedNumber(text!)]).to.deep.equal([true, false]);
  });

  it('JSON with exact numbers tells neighbours apart that JavaScript takes for one number', () => {
    const hashOf = (json: string): string => jsonHash(parseExact(json)).toString('hex');
    expect(hashOf('{"id":9007199254740993}')).not.to.equal(hashOf('{"id":9007199254740992}'));
    expect(hashOf('{"id":9007199254740993}')).not.to.equal(hashOf('{"id":"9007199254740993"}'));
    expect(hashOf('{"a":1,"id":9007199254740993}')).to.equal(hashOf('{"id": 9007199254740993, "a": 1}'));
  });
});

import { expect } from 'chai';
import { isDecimal, toDecimal, toUnits } from '../../../src/platform/decimal.js';
import { costOf, priceOf } from '../../../src/models/price.js';

describe('decimal numbers of money', () => {
  it('decimal numbers of money lose nothing, and have no exponent and no trailing zeros', () => {
    for (const [text, shortest] of [
      ['0', '0'],
      ['0.000000', '0'],
      ['1', '1'],
      ['10.50', '10.5'],
      ['999999999.999999', '999999999.999999'],
      ['0.000000000001', '0.000000000001'],
      ['123456789012345678901234567890.1', '123456789012345678901234567890.1'],
    ] as const) {
      expect(toDecimal(toUnits(text)), text).to.equal(shortest);
    }
  });

  it('decimal numbers of money have one spelling, 9 digits before and 6 after the point', () => {
    for (const text of ['0', '0.5', '1', '10', '999999999.999999', '1.50'])
      expect(isDecimal(text), text).to.equal(true);
    for (const text of ['', '01', '.5', '1.', '-1', '+1', '1e3', '1.0000000', '1000000000', '1,5', ' 1', '1\n', '١']) {
      expect(isDecimal(text), text).to.equal(false);
    }
  });

  it('decimal numbers of money make the cost of a call, each kind of token at its price', () => {
    const price = priceOf({ price: { currency: 'USD', input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 } })!;
    const cached = { cache_read_input_tokens: 1000, cache_creation_input_tokens: 100_000 };
    const usage = { input_tokens: 1, output_tokens: 10, ...cached };
    // 0.000003 + 0.00015 + 0.0003 + 0.375
    expect(toDecimal(costOf(price, usage))).to.equal('0.375453');
  });

  it('decimal numbers of money keep each digit of a price', () => {
    const smallest = { input: 0.000001, output: 123_456_789.123456, cache_read: 0.1, cache_write: 999_999_999.999999 };
    const price = priceOf({ price: { currency: 'EUR', ...smallest } })!;
    expect(price).to.deep.equal({
      currency: 'EUR',
      input: 1n,
      output: 123_456_789_123_456n,
      cache_read: 100_000n,
      cache_write: 999_999_999_999_999n,
    });
  });
});

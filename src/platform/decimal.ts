/**
 * Money is a whole number of units of 10⁻¹² of its currency, as a bigint: a price has at most six decimals for a million
 * tokens, so a token costs a whole number of units. Nothing is rounded.
 */
const UNIT_DECIMALS = 12;

/** A decimal number above or equal to 0 with at most 9 digits before and 6 after the point (decisions.md "Money and models"). */
export const DECIMAL_PATTERN = '^(0|[1-9]\\d{0,8})(\\.\\d{1,6})?$';
const DECIMAL = new RegExp(DECIMAL_PATTERN);

export function isDecimal(text: string): boolean {
  return DECIMAL.test(text);
}

/** Converts a decimal number without an exponent to units. It has at most twelve decimals. */
export function toUnits(text: string): bigint {
  const [whole, fraction = ''] = text.split('.');
  return BigInt(whole! + fraction.padEnd(UNIT_DECIMALS, '0'));
}

/** Converts units to the shortest decimal number. They are not negative. */
export function toDecimal(units: bigint): string {
  const digits = units.toString().padStart(UNIT_DECIMALS + 1, '0');
  const fraction = digits.slice(-UNIT_DECIMALS).replace(/0+$/, '');
  const whole = digits.slice(0, -UNIT_DECIMALS);
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

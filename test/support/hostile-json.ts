import fc from 'fast-check';

interface Sizes {
  /** Most items of a list and fields of an object. */
  items: number;
  /** Most levels. */
  depth: number;
  /** Most units of a text. */
  length: number;
  /** Keys that mean something to the reader; any value follows them. */
  keys: readonly string[];
}

/** JSON text of many values, of great depth, of great length, and with repeated keys; together with each other. */
export function hostileJson({ items, depth, length, keys }: Sizes): fc.Arbitrary<string> {
  return fc.letrec<{ any: string }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      { weight: 2, arbitrary: fc.json({ maxDepth: 4 }) },
      repeated(['{}', '[]', '1', '""', '{"a":1}', '[[[]]]'], items).map((list) => `[${list.join(',')}]`),
      upTo(depth).map((levels) => '['.repeat(levels) + ']'.repeat(levels)),
      upTo(depth).map((levels) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`),
      repeated(['x', '\\n', '\\u0000', '漢', '\\ud800', '[', '\\"'], length).map((units) => `"${units.join('')}"`),
      fc
        .tuple(fc.boolean(), upTo(items))
        .map(([same, count]) => `{${Array.from({ length: count }, (_, n) => `"k${same ? 0 : n}":{}`).join(',')}}`),
      fc.tuple(fc.constantFrom(...keys), tie('any')).map(([key, value]) => `{"type":"text","${key}":${value}}`),
      fc.array(tie('any'), { maxLength: 3 }).map((list) => `[${list.join(',')}]`),
    ),
  })).any;
}

/** One unit, many times. */
export function repeated(units: readonly string[], max: number): fc.Arbitrary<string[]> {
  return fc.tuple(fc.constantFrom(...units), upTo(max)).map(([unit, count]) => Array<string>(count).fill(unit));
}

/** Half of the numbers are near the largest: it is where work would grow beyond its bounds. */
function upTo(max: number): fc.Arbitrary<number> {
  return fc.oneof(fc.integer({ min: 1, max }), fc.integer({ min: Math.ceil(max / 2), max }));
}

/** How to repeat a failure. Its example may have a million characters, so that only its beginning is shown. */
export function reportFailure<T>(details: fc.RunDetails<T>): void {
  const { failed, seed, counterexamplePath, counterexample, errorInstance } = details;
  if (!failed) return;
  const example = JSON.stringify(counterexample)?.slice(0, 500);
  throw new Error(`seed ${seed}, path ${counterexamplePath}: ${String(errorInstance).slice(0, 500)}\nfor ${example}`);
}

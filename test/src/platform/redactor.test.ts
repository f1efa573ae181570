import { expect } from 'chai';
import fc from 'fast-check';
import { Redactor } from '../../../src/platform/redactor.js';

const MARK = '[credential]';

/** The characters of every occurrence of every secret, each run of overlapping ones replaced. */
function redactSlowly(text: string, secrets: readonly string[]): string {
  const spans = secrets
    .flatMap((secret) => {
      const found: [number, number][] = [];
      for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + 1))
        found.push([at, at + secret.length]);
      return found;
    })
    .sort(([a, b], [c, d]) => a - c || d - b);
  let result = '';
  let done = 0;
  for (let i = 0; i < spans.length;) {
    const [start, first] = spans[i]!;
    let end = first;
    for (i += 1; i < spans.length && spans[i]![0] < end; i += 1) end = Math.max(end, spans[i]![1]);
    result += text.slice(done, start) + MARK;
    done = end;
  }
  return result + text.slice(done);
}

/** Secrets and texts of few different characters, so that they overlap in every way. */
const dense = (min: number, max: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom('a', 'b'), minLength: min, maxLength: max });

describe('redaction of secrets', () => {
  it('redaction of secrets replaces every occurrence, also of overlapping secrets', () => {
    fc.assert(
      fc.property(fc.array(dense(8, 12), { minLength: 1, maxLength: 4 }), dense(0, 300), (secrets, text) => {
        expect(new Redactor(secrets).redact(text)).to.equal(redactSlowly(text, secrets));
      }),
      { numRuns: 1000 },
    );
  });

  it('redaction of secrets gives the same for long texts, piece by piece', async () => {
    const secrets = ['s3cret-one', 's3cret-one-and-more', `long-${'x'.repeat(8000)}`];
    const text = `${'y'.repeat(100_003)}${secrets.join('-')}`.repeat(12) + secrets[2]!.slice(0, 5000);
    const redactor = new Redactor(secrets);
    const clean = await redactor.redactLong(text);
    expect(clean === redactSlowly(text, secrets)).to.equal(true);
    expect(clean === redactor.redact(text)).to.equal(true);
  });

  it('redaction of secrets leaves short secrets and texts without secrets alone', () => {
    expect(new Redactor(['1234567', '12345678']).redact('1234567 and 12345678')).to.equal(`1234567 and ${MARK}`);
    expect(new Redactor([]).redact('text')).to.equal('text');
  });

  it('redaction of secrets shows no part of a secret at the end of a cut text', () => {
    fc.assert(
      fc.property(
        fc.array(dense(8, 12), { minLength: 1, maxLength: 3 }),
        dense(0, 100),
        fc.nat(40),
        (secrets, text, length) => {
          const shown = new Redactor(secrets).redactStart(text, length);
          const whole = redactSlowly(text, secrets);
          expect(whole.startsWith(shown) || shown.length > whole.length, `${shown} of ${whole}`).to.equal(true);
        },
      ),
      // The end of the secret could be the start of another one.
      { numRuns: 1000, examples: [[['bbbbbbbb'], 'abbbbbbbba', 1]] },
    );
    expect(new Redactor(['key-12345678-key']).redactStart('no key-12345678-key is known', 3)).to.equal('no ');
    const secret = `s${'x'.repeat(8000)}`;
    expect(new Redactor([secret]).redactStart(secret.repeat(3), 1000)).to.equal(MARK);
  });

  it('redaction of secrets holds back the end that may be the start of a secret', () => {
    const redactor = new Redactor(['secret-123', 'ret-999-long-one']);
    for (const [text, length] of [
      ['', 0],
      ['no', 0],
      ['a sec', 3],
      ['a secret-12', 9],
      ['a secret-9', 5],
      ['a secret-8', 0],
      ['a secret-', 7],
      ['a sret-999', 7],
    ] as const) {
      expect(redactor.unfinishedLength(text), text).to.equal(length);
    }
  });

  // Boyer-Moore needs the product of both lengths here: 3.7 µs for a character of the text.
  for (const [what, secret, text] of [
    ['ends like the secret', `b${'a'.repeat(8000)}`, `baaaaaa${'a'.repeat(4_000_000)}`],
    ['nearly is the secret', `${'a'.repeat(8000)}b`, 'a'.repeat(4_000_000)],
    [
      'begins like the secret again and again',
      `aaaaaaaa${'ba'.repeat(4000)}c`,
      `aaaaaaaa${'ba'.repeat(4000)}d`.repeat(500),
    ],
    ['has the secret everywhere', 'abcdefgh', 'abcdefgh'.repeat(500_000)],
  ] as const) {
    it(`redaction of secrets takes time in proportion to a text that ${what}`, async () => {
      const secrets = Array.from({ length: 16 }, (_, n) => (n === 0 ? secret : `${secret.slice(0, -1)}${n}`));
      const began = process.cpuUsage();
      await new Redactor(secrets).redactLong(text);
      expect(process.cpuUsage(began).user / 1e6, 'seconds of CPU').to.be.lessThan(5);
    });
  }
});

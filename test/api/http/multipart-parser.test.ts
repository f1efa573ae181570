import { expect } from 'chai';
import fc from 'fast-check';
import { MultipartParser } from '../../../api/http/upload/multipart-parser.js';

const BOUNDARY = 'x-b';

interface Parsed {
  headers: string[];
  contents: string[];
  /** Number of pieces in which the content came. */
  pieces: number;
}

function parse(chunks: Buffer[]): Parsed {
  const parsed: Parsed = { headers: [], contents: [], pieces: 0 };
  const parser = new MultipartParser(BOUNDARY, {
    onHeader: (header) => (parsed.headers.push(header), parsed.contents.push('')),
    onContent: (content) => {
      parsed.contents[parsed.contents.length - 1] += content.toString('latin1');
      parsed.pieces += 1;
    },
    onEnd: () => undefined,
  });
  for (const chunk of chunks) parser.push(chunk);
  parser.end();
  return parsed;
}

function bodyOf(contents: string[], preamble = ''): Buffer {
  const parts = contents.map((content, index) => `--${BOUNDARY}\r\nX-Part: ${index}\r\n\r\n${content}\r\n`);
  return Buffer.from(`${preamble}${parts.join('')}--${BOUNDARY}--\r\n`, 'latin1');
}

function split(body: Buffer, cuts: number[]): Buffer[] {
  const at = [0, ...cuts.map((cut) => cut % body.length).sort((a, b) => a - b), body.length];
  return at.slice(1).map((end, index) => body.subarray(at[index], end));
}

describe('the multipart parser', () => {
  // Almost boundaries: the pieces that boundaries are made of.
  const content = fc
    .array(fc.constantFrom('\r\n', '\r', '\n', '--', '-', 'x-b', '\r\n--x-', '\r\n--x-b ', 'text', '\xff'))
    .map((pieces) => pieces.join(''))
    .filter((text) => !/\r\n--x-b(--|\r\n)/.test(`\r\n${text}\r\n`));

  it('the multipart parser finds the same parts wherever the body is cut', () => {
    fc.assert(
      fc.property(fc.array(content, { minLength: 1, maxLength: 3 }), fc.array(fc.nat()), (contents, cuts) => {
        const parsed = parse(split(bodyOf(contents), cuts));
        expect(parsed.contents).to.deep.equal(contents);
        expect(parsed.headers).to.deep.equal(contents.map((_, index) => `X-Part: ${index}`));
      }),
      { numRuns: 500 },
    );
  });

  it('the multipart parser ignores what comes before the first boundary and after the last', () => {
    const body = Buffer.concat([bodyOf(['a'], 'preamble\r\n'), Buffer.from(`--${BOUNDARY}\r\n\r\nepilogue`)]);
    expect(
      parse(
        body
          .toString('latin1')
          .split('')
          .map((byte) => Buffer.from(byte, 'latin1')),
      ).contents,
    ).to.deep.equal(['a']);
  });

  it('the multipart parser passes content on in pieces as large as they arrive, whatever it is', () => {
    for (const unit of ['\r', '\r\n', '\r\n--', '\r\n--x-', '\r\n--x-b ', '\n', '-']) {
      const body = bodyOf([unit.repeat(60_000)]);
      const chunks = Array.from({ length: Math.ceil(body.length / 65_536) }, (_, index) =>
        body.subarray(index * 65_536, (index + 1) * 65_536),
      );
      expect(parse(chunks).pieces, JSON.stringify(unit)).to.be.at.most(chunks.length + 1);
    }
  });
});

import { expect } from 'chai';
import { LineWindow } from '../../../../activities/tools/built-in/workspace/line-window.js';
import { cleanText, OutputCollector } from '../../../../activities/tools/built-in/workspace/output.js';
import { MAX_WHOLE_BYTES } from '../../../../src/steps/shorten-result.js';

describe('the text of a command', () => {
  const cleaned = (text: string): string => cleanText(Buffer.from(text));

  it('the text of a command has no escape sequences of a terminal', () => {
    const texts = {
      colours: '\u001b[31mred\u001b[0m',
      'a colour with many numbers': '\u001b[38;2;255;0;10mred',
      'a cursor that moves': 'r\u001b[2Ke\u001b[1;1Hd',
      'a title that ends with BEL': '\u001b]0;title\u0007red',
      'a title that ends with ST': '\u001b]0;title\u001b\\red',
      'a link': '\u001b]8;;http://x.example\u001b\\red\u001b]8;;\u001b\\',
      'a control string': '\u001bP1$r0m\u001b\\red',
      'a character set': '\u001b(Bred',
      'a key pad': '\u001b=red',
    };
    for (const [name, text] of Object.entries(texts)) expect(cleaned(text), name).to.equal('red');
  });

  it('the text of a command shows an escape as U+FFFD where no sequence begins, and nothing of what its removal would complete', () => {
    expect(cleaned('a\u001b')).to.equal('a\ufffd');
    expect(cleaned('a\u001b\nb')).to.equal('a\ufffd\nb');
    expect(cleaned('\u001b\u001b[0m[31mred')).to.equal('\ufffd[31mred');
    // Of a sequence without an end only its begin is removed.
    expect(cleaned('a\u001b[31')).to.equal('a31');
    expect(cleaned('\u001b]0;no end')).to.equal('0;no end');
  });

  it('the text of a command has LF at the end of each line', () => {
    expect(cleaned('a\r\nb\rc\nd\r\r\ne')).to.equal('a\nb\nc\nd\n\ne');
  });

  it('the text of a command has U+FFFD for other control characters and for bytes that are not UTF-8, and keeps tabs', () => {
    expect(cleaned('a\u0000b\u0007c\u007fd\u0085e\u009bf\tg')).to.equal('a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf\tg');
    expect(cleanText(Buffer.from([0x61, 0xff, 0xc3, 0x62, 0xed, 0xa0, 0x80]))).to.match(/^a\ufffd\ufffdb\ufffd+$/);
    expect(cleaned('ä 😀 \ufeff\u200d')).to.equal('ä 😀 \ufeff\u200d');
  });

  it('the text of a command takes time in proportion to its length, also where sequences never end', () => {
    const began = performance.now();
    for (const text of ['\u001b]', '\u001b[', '\u001b[1;', '\u001bP', '\u001b ', '\u001b'])
      cleaned(text.repeat(1_000_000 / text.length));
    cleaned(`\u001b[${'1'.repeat(1_000_000)}`);
    cleaned(`\u001b${' '.repeat(1_000_000)}`);
    // About 0.2 s. What is quadratic takes minutes.
    expect(performance.now() - began).to.be.lessThan(20_000);
  });
});

describe('the output of a command', () => {
  const HALF = 512 * 1024;
  const collected = (...chunks: Buffer[]): string => {
    const output = new OutputCollector();
    for (const chunk of chunks) output.add(chunk);
    return output.text();
  };

  it('the output of a command is kept whole up to 1 MiB', () => {
    const all = Buffer.concat([Buffer.alloc(HALF, 'a'), Buffer.alloc(HALF, 'z')]);
    expect(collected(all)).to.equal(all.toString());
    expect(collected()).to.equal('');
    expect(collected(Buffer.from('ä').subarray(0, 1), Buffer.from('ä').subarray(1))).to.equal('ä');
  });

  it('the output of a command loses what is between its first and its last half mebibyte, however it arrives', () => {
    const all = Buffer.from(Array.from({ length: 400_000 }, (_, at) => String(at).padStart(7, '0')).join('\n'));
    const leftOut = all.length - 2 * HALF;
    const expected = `${all.toString('utf8', 0, HALF)}\n[${leftOut} bytes are left out here]\n${all.toString('utf8', all.length - HALF)}`;
    for (const size of [1000, 65_536, HALF, HALF + 1, 3 * HALF, all.length]) {
      const count = Math.ceil(all.length / size);
      const chunks = Array.from({ length: count }, (_, at) => all.subarray(at * size, (at + 1) * size));
      expect(collected(...chunks) === expected, `pieces of ${size} bytes`).to.equal(true);
    }
  });
});

describe('the lines that read shows', () => {
  /** Of a text that comes in pieces, cut without regard to characters. */
  const show = (text: string | Buffer, range: [number, number] = [1, 0], piece = 1000): string | null => {
    const window = new LineWindow(range);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += piece) window.add(bytes.subarray(at, at + piece));
    return window.text();
  };

  it('the lines that read shows are the text as it is, if that is all of it', () => {
    for (const text of ['a', 'a\n', 'a\nb', '\n', '\n\na\n\n', '\ufeffa\r\n', 'ä😀\n'])
      for (const piece of [1, 2, 1000]) expect(show(text, [1, 0], piece), JSON.stringify(text)).to.equal(text);
    expect(show('a\nb\n', [1, 2])).to.equal('a\nb\n');
    expect(show('')).to.equal('(The file is empty.)');
  });

  it('the lines that read shows are those of the range, with a note on which these are', () => {
    const text = Array.from({ length: 10 }, (_, at) => `${at + 1}\n`).join('');
    expect(show(text, [2, 3])).to.equal('2\n3\n[lines 2-3 of 10]');
    expect(show(text, [10, 0])).to.equal('10\n[lines 10-10 of 10]');
    expect(show(text, [9, 100])).to.equal('9\n10\n[lines 9-10 of 10]');
    expect(show(text, [-5, 1])).to.equal('1\n[lines 1-1 of 10]');
    expect(show(text, [2, -1])).to.match(/^2\n[^]*10\n\[lines 2-10 of 10\]$/);
    for (const range of [
      [11, 0],
      [4, 2],
    ] as const)
      expect(show(text, [...range])).to.equal('[The file has 10 lines; none of them is in this range.]');
  });

  it('the lines that read shows have up to 48 KiB with their note, and are whole', () => {
    const whole = 'x'.repeat(MAX_WHOLE_BYTES - 1);
    expect(show(`${whole}\n`)).to.equal(`${whole}\n`);
    expect(show(`${whole}x`)).to.equal(`${whole}x`);
    const lines = `${'0123456789abcde\n'.repeat(MAX_WHOLE_BYTES / 16)}`;
    expect(show(lines)).to.equal(lines);
    const more = show(`${lines}\n`)!;
    expect(more.length).to.be.within(MAX_WHOLE_BYTES - 32, MAX_WHOLE_BYTES);
    const [, last] = /^(?:0123456789abcde\n)+\[lines 1-(\d+) of 3073\]$/.exec(more)!;
    expect(more.split('\n')).to.have.length(Number(last) + 1);
    for (const length of [1, 8, 50, 199]) {
      const shown = show(`${'ä'.repeat(length)}\n`.repeat(30_000), [3, 0], 65_536)!;
      expect(Buffer.byteLength(shown)).to.be.within(MAX_WHOLE_BYTES - 2 * length - 32, MAX_WHOLE_BYTES);
      expect(shown).to.match(/ä\n\[lines 3-\d+ of 30000\]$/);
    }
  });

  it('the lines that read shows include one that is too long alone, up to the limit and not within a character', () => {
    for (const line of ['x'.repeat(200_000), '😀'.repeat(50_000), 'ä'.repeat(MAX_WHOLE_BYTES / 2) + 'b'])
      for (const end of ['\nend', '']) {
        const shown = show(`first\n${line}${end}`, [2, 2])!;
        expect(Buffer.byteLength(shown)).to.be.within(MAX_WHOLE_BYTES - 4, MAX_WHOLE_BYTES);
        expect(shown.isWellFormed()).to.equal(true);
        const [text, note] = shown.split('\n');
        expect(line.startsWith(text!), 'the begin of the line').to.equal(true);
        expect(note).to.equal(`[lines 2-2 of ${end === '' ? 2 : 3}]`);
      }
  });

  it('the lines that read shows are none of a file with NUL or invalid UTF-8, wherever that is', () => {
    const long = 'line\n'.repeat(50_000);
    for (const bytes of [[0], [0xff], [0xc3], [0xed, 0xa0, 0x80]])
      for (const before of ['', 'a\n', long])
        expect(show(Buffer.concat([Buffer.from(before), Buffer.from(bytes)]), [1, 1])).to.equal(null);
  });
});

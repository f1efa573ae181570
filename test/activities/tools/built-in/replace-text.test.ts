import { expect } from 'chai';
import fc from 'fast-check';
import { FolderList } from '../../../../activities/tools/built-in/workspace/folder-list.js';
import { replaceText } from '../../../../src/platform/replace-text.js';
import { MAX_WHOLE_BYTES } from '../../../../src/steps/shorten-result.js';

const MAX_BYTES = 8 * 1024 * 1024;

describe('the replacement of a text', () => {
  const replace = (text: string | Buffer, old: string, now: string, all = true, maxBytes = MAX_BYTES) =>
    replaceText(Buffer.from(text as string), { old, now, all }, maxBytes);

  it('the replacement of a text is that of all places from left to right, literally', async () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'ä', '😀', '$&'), maxLength: 4 });
    const texts = fc.string({ unit: fc.constantFrom('a', 'b', 'ä', '😀', '$&'), maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(texts, word, word, async (text, old, now) => {
        fc.pre(old !== '');
        const count = text.split(old).length - 1;
        const result = await replace(text, old, now);
        if (count === 0) expect(result).to.deep.equal({ problem: { count: 0 } });
        else expect(result).to.deep.equal({ count, text: Buffer.from(text.split(old).join(now)) });
      }),
    );
  });

  it('the replacement of a text is refused at two places unless it is of all', async () => {
    expect(await replace('a-a', 'a', 'b', false)).to.deep.equal({ problem: { count: 2 } });
    expect(await replace('a-b', 'a', 'c', false)).to.deep.equal({ count: 1, text: Buffer.from('c-b') });
  });

  it('the replacement of a text is not found in half of a character', async () => {
    expect(await replace('😀\ufffd', '\ud83d', 'x')).to.deep.equal({ problem: { count: 0 } });
  });

  it('the replacement of a text has as many bytes as edit may write, and not one more', async () => {
    const text = 'a'.repeat(1000);
    expect(await replace(text, 'a', 'ä', true, 2000)).to.include({ count: 1000 });
    expect(await replace(text, 'a', 'ä', true, 1999)).to.deep.equal({ problem: { size: 2000 } });
    // Before it is built: it could not be.
    const huge = await replace('a'.repeat(MAX_BYTES), 'a', 'b'.repeat(100_000));
    expect(huge).to.deep.equal({ problem: { size: 838860800000 } });
  });

  it('the replacement of a text takes time in proportion to the text, whatever is looked for', async () => {
    const text = Buffer.alloc(MAX_BYTES, 'a');
    // At each place it is other than the text in its first letter only. Searched for letter by letter that is 800 thousand million steps.
    expect(await replace(text, `b${'a'.repeat(100_000)}`, 'x')).to.deep.equal({ problem: { count: 0 } });
    expect(await replace(text, `${'a'.repeat(100_000)}b`, 'x')).to.deep.equal({ problem: { count: 0 } });
    expect(await replace(text, 'a'.repeat(100_000), 'x')).to.include({ count: Math.floor(MAX_BYTES / 100_000) });
  });
});

describe('the list of a folder', () => {
  const listOf = (names: string[], chunkBytes = 7): string => {
    const list = new FolderList();
    const bytes = Buffer.from(names.map((name) => `${name}\0`).join(''));
    for (let at = 0; at < bytes.length; at += chunkBytes) list.add(bytes.subarray(at, at + chunkBytes));
    return list.text();
  };

  it('the list of a folder has a line for each entry, however its bytes arrive', () => {
    expect(listOf([])).to.equal('(The folder is empty.)');
    for (const bytes of [1, 2, 3, 1000]) expect(listOf(['a', 'ä/', 'line\nfeed'], bytes)).to.equal('a\nä/\nline?feed');
  });

  it('the list of a folder has up to 48 KiB, and says of how many entries', () => {
    const name = 'n'.repeat(1023);
    expect(listOf(Array.from({ length: 48 }, () => name))).to.equal(`${name}\n`.repeat(48).slice(0, -1));
    const many = listOf(
      [...Array.from({ length: 48 }, () => name), 'xx', ...Array.from({ length: 20_000 }, () => 'x')],
      65_536,
    );
    expect(Buffer.byteLength(many)).to.be.at.most(MAX_WHOLE_BYTES);
    expect(many).to.match(/\n\[47 of 20049 entries\]$/);
  });
});

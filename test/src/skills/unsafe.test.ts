import { expect } from 'chai';
import { crc32, deflateRawSync } from 'node:zlib';
import { bundleOf, refusalOf, SKILL, zip, type ZipEntry } from './zip.js';

const bad = (entry: ZipEntry): Buffer => zip([SKILL, { content: 'x', ...entry }]);

async function refusal(content: Buffer): Promise<string> {
  const error = await refusalOf(content);
  expect(error).to.have.property('type', 'invalid_skill_bundle');
  return error.message;
}

describe('unsafe skill archives', () => {
  const paths: [string, RegExp][] = [
    ['/etc/passwd', /"\/etc\/passwd" is unsafe: it is absolute/],
    ['//host/share', /is absolute/],
    ['C:/x.txt', /"C:\/x.txt" is unsafe: it starts with a drive letter/],
    ['c:x.txt', /drive letter/],
    ['../x', /"..\/x" is unsafe: it contains ".."/],
    ['a/../x', /contains ".."/],
    ['a/..', /contains ".."/],
    ['../', /contains ".."/],
    ['__MACOSX/../../x', /contains ".."/],
    ['a\\b.txt', /"a\\\\b.txt" is unsafe: it contains a backslash/],
    ['..\\x', /backslash/],
    ['a\0b', /contains NUL/],
    ['a\nb', /"a\\u?\{?.*b" contains a control character/],
    ['a\x7fb', /control character/],
    ['a\u0085b', /control character/],
    ['a//b', /empty folder name/],
    ['a/b//', /empty folder name/],
    [`${'x'.repeat(256)}.txt`, /longer than 255 bytes/],
    [`${'x/'.repeat(520)}x`, /longer than 1024 bytes/],
  ];
  for (const [name, message] of paths) {
    it(`the reader of skill archives refuses the path ${JSON.stringify(name.slice(0, 40))}`, async () => {
      expect(await refusal(bad({ name }))).to.match(message);
    });
  }

  it('the reader of skill archives shows a hostile name escaped and cut', async () => {
    const message = await refusal(bad({ name: `/\u202e\u2028${'é'.repeat(400)}` }));
    expect(message)
      .to.match(/^The path "\/\\u\{202e\}\\u\{2028\}é+…" is unsafe/)
      .and.have.length.below(300);
  });

  it('the reader of skill archives accepts safe names: dots, spaces, colons, quotes, other scripts', async () => {
    const names = ['...', 'a..b', '.hidden/x', 'a b.txt', 'ab:c', "it's", 'данные/表.csv', '🙂.md', 'x'.repeat(255)];
    const bundle = await bundleOf(zip([SKILL, ...names.map((name) => ({ name, content: 'x' }))]));
    expect(bundle.files.map(({ path }) => path)).to.have.members(['SKILL.md', ...names]);
  });

  const collisions: [string, string[], RegExp][] = [
    ['the same file twice', ['a.txt', 'a.txt'], /"a.txt" is in the archive twice/],
    ['SKILL.md twice', ['SKILL.md'], /"SKILL.md" is in the archive twice/],
    ['a file twice by way of "."', ['a.txt', './a.txt'], /"a.txt" is in the archive twice/],
    ['names that differ by case', ['Readme.md', 'README.md'], /"Readme.md" and "README.md" differ only by case/],
    ['folders that differ by case', ['Docs/a', 'docs/b'], /"Docs" and "docs" differ only by case/],
    ['folders of their own that differ by case', ['Docs/', 'docs/'], /differ only by case/],
    ['other scripts that differ by case', ['ПЛАН', 'план'], /differ only by case/],
    ['NFC beside NFD', ['é.txt'.normalize('NFC'), 'é.txt'.normalize('NFD')], /is in the archive twice/],
    ['a file that is a folder', ['a', 'a/b'], /"a" is a file and a folder at once/],
    ['a folder that is a file', ['a/b', 'a'], /"a" is a file and a folder at once/],
    ['an entry that is both', ['a/', 'a'], /"a" is a file and a folder at once/],
  ];
  for (const [what, names, message] of collisions) {
    it(`the reader of skill archives refuses ${what}`, async () => {
      const entries = names.map((name) => (name.endsWith('/') ? { name } : { name, content: 'x' }));
      expect(await refusal(zip([SKILL, ...entries]))).to.match(message);
    });
  }

  const kinds: [string, ZipEntry, RegExp][] = [
    ['a symbolic link', { name: 'l', content: '/etc/passwd', mode: 0o120777 }, /"l" is a symbolic link/],
    ['a link called like a folder', { name: 'l/', content: '', mode: 0o120777 }, /"l\/" is a symbolic link/],
    ['SKILL.md as a link', { name: 'x/SKILL.md', content: 'a', mode: 0o120777 }, /is a symbolic link/],
    ['a character device', { name: 'd', mode: 0o020666 }, /"d" is neither a file nor a folder/],
    ['a block device', { name: 'd', mode: 0o060666 }, /neither a file nor a folder/],
    ['a pipe', { name: 'd', mode: 0o010666 }, /neither a file nor a folder/],
    ['a socket', { name: 'd', mode: 0o140666 }, /neither a file nor a folder/],
    ['an encrypted entry', { name: 'e', flags: 0x801 }, /"e" is encrypted/],
    ['an entry with strong encryption', { name: 'e', flags: 0x841 }, /encryption/],
    ['an entry with masked headers', { name: 'e', flags: 0x2800 }, /"e" is encrypted/],
    ['AES', { name: 'e', method: 99, flags: 0x801 }, /"e" is encrypted/],
    ['a method that few can read', { name: 'm', method: 12 }, /"m" is compressed by method 12/],
    ['a folder with content', { name: 'f/', content: 'x' }, /"f\/" is a folder that has content/],
    ['names that are marked as UTF-8 and are not', { name: Buffer.from([0x61, 0xff]) }, /marked as UTF-8 and is not/],
    ['a name that its local header does not have', { name: 'a', localName: 'b' }, /"a" has another name/],
  ];
  for (const [what, entry, message] of kinds) {
    it(`the reader of skill archives refuses ${what}`, async () => {
      expect(await refusal(bad(entry))).to.match(message);
    });
  }

  const content = Buffer.from('some content that is long enough to be cut');
  const lies: [string, ZipEntry, RegExp][] = [
    ['a size below the content', { name: 'a', content, declaredSize: 3 }, /"a" is not of the size/],
    ['a size above the content', { name: 'a', content, declaredSize: 300 }, /"a" is not of the size/],
    ['a stored size that differs', { name: 'a', content, method: 0, declaredSize: 3 }, /"a" is not of the size/],
    ['a checksum of something else', { name: 'a', content, declaredCrc: 1 }, /"a" is damaged: its checksum/],
    ['no checksum', { name: 'a', content, declaredCrc: 0 }, /checksum/],
    [
      'data that is no deflate',
      { name: 'a', data: Buffer.from([0xff, 0xff]), method: 8 },
      /"a" is damaged: its compressed/,
    ],
    ['data that breaks off', { name: 'a', content, data: deflateRawSync(content).subarray(0, 20) }, /"a" is damaged/],
    [
      'data with something behind it',
      { name: 'a', content, data: Buffer.concat([deflateRawSync(content), Buffer.from('hidden')]) },
      /"a" is not of the size/,
    ],
  ];
  for (const [what, entry, message] of lies) {
    it(`the reader of skill archives refuses ${what}`, async () => {
      expect(await refusal(zip([SKILL, entry]))).to.match(message);
      expect(await refusal(zip([SKILL, { ...entry, dataDescriptor: true }]))).to.match(message);
    });
  }

  it('the reader of skill archives refuses a local header whose size or method differs from the directory', async () => {
    for (const [offset, value] of [
      [22, 1],
      [18, 1],
    ] as const) {
      const archive = zip([SKILL]);
      archive.writeUInt32LE(value, offset);
      expect(await refusal(archive)).to.match(/"SKILL.md" is not of the size/);
    }
    const archive = zip([SKILL]);
    archive.writeUInt16LE(0, 8);
    expect(await refusal(archive)).to.match(/"SKILL.md" is not of the size/);
  });

  it('the reader of skill archives refuses entries that share their data', async () => {
    const shared = { name: 'a', content: 'xxxxxxxxxx', method: 0 };
    expect(await refusal(zip([SKILL, shared, { ...shared, name: 'b', localName: 'a', sharesDataOf: 1 }]))).to.match(
      /"b" has another name/,
    );
    const inner = zip([{ name: 'b', content: 'deep', method: 0 }]).subarray(0, 30 + 1 + 4);
    const outer = zip([SKILL, { name: 'a', content: inner, method: 0 }, { name: 'b', content: 'deep', method: 0 }]);
    const directory = outer.lastIndexOf(Buffer.from('PK\x01\x02', 'latin1'));
    outer.writeUInt32LE(outer.indexOf(inner), directory + 42);
    expect(await refusal(outer)).to.match(/"a" and "b" overlap/);
  });

  it('the reader of skill archives refuses an archive that is cut, at every place', async () => {
    const archive = zip([SKILL, { name: 'a/b', content: 'content' }], { zip64End: true });
    for (let length = 4; length < archive.length; length += 1) await refusal(archive.subarray(0, length));
  });

  it('the reader of skill archives refuses records that point outside of the file', async () => {
    const archive = zip([SKILL], { zip64End: true });
    const locator = archive.lastIndexOf(Buffer.from('PK\x06\x07', 'latin1'));
    const end64 = archive.lastIndexOf(Buffer.from('PK\x06\x06', 'latin1'));
    for (const [at, value] of [
      [locator + 8, 0xffff_ffff_ffff_ffffn],
      [locator + 8, 1n << 40n],
      [end64 + 48, 0xffff_ffff_ffff_ffffn],
      [end64 + 32, 0xffff_ffff_ffff_ffffn],
      [end64 + 32, 2n],
    ] as const) {
      const broken = Buffer.from(archive);
      broken.writeBigUInt64LE(value, at);
      expect(await refusal(broken)).to.match(/^The archive cannot be read/);
    }
  });

  it('the reader of skill archives is not led astray by a Unicode Path field of another name', async () => {
    const field = (name: string, of: string): Buffer => {
      const head = Buffer.alloc(9);
      head.writeUInt16LE(0x7075, 0);
      head.writeUInt16LE(5 + Buffer.byteLength(name), 2);
      head.writeUInt8(1, 4);
      head.writeUInt32LE(crc32(Buffer.from(of)), 5);
      return Buffer.concat([head, Buffer.from(name)]);
    };
    expect(await refusal(bad({ name: 'a', flags: 0, extra: field('../b', 'a') }))).to.match(/contains ".."/);
    const bundle = await bundleOf(bad({ name: 'a', flags: 0, extra: field('é', 'a') }));
    expect(bundle.files.map(({ path }) => path)).to.deep.equal(['SKILL.md', 'é']);
    const other = await bundleOf(bad({ name: 'a', flags: 0, extra: field('b', 'c') }));
    expect(other.files.map(({ path }) => path)).to.deep.equal(['SKILL.md', 'a']);
  });
});

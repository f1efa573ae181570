import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Bundle } from '../../../src/skills/bundle.js';
import { skip } from '../../support/skip.js';
import { bundleOf, inTempFolder, skillMd, zip, type ZipEntry } from './zip.js';

const run = promisify(execFile);
const FILES: Record<string, string> = {
  'SKILL.md': skillMd(),
  'scripts/run.py': 'print(1)\n',
  'références/Größe 表.md': '# é\n',
};
const PATHS = ['SKILL.md', 'références/Größe 表.md', 'scripts/run.py'];
const paths = (bundle: Bundle): string[] => bundle.files.map((file) => file.path);
const entries = (more: Partial<ZipEntry> = {}): ZipEntry[] =>
  Object.entries(FILES).map(([path, content]) => ({ name: `demo/${path}`, content, ...more }));

/** Packs the folder `demo` with a command that is there or not. */
async function packedBy(command: string, args: (archive: string) => string[]): Promise<Buffer | null> {
  return inTempFolder(async (folder) => {
    for (const [path, content] of Object.entries(FILES)) {
      await mkdir(dirname(join(folder, 'demo', path)), { recursive: true });
      await writeFile(join(folder, 'demo', path), content);
    }
    try {
      await run(command, args(join(folder, 'demo.zip')), { cwd: folder });
    } catch (error) {
      // EACCES: the search path names a folder that this user may not read.
      if (['ENOENT', 'EACCES'].includes(String((error as NodeJS.ErrnoException).code))) return null;
      throw error;
    }
    return readFile(join(folder, 'demo.zip'));
  });
}

describe('skill packages as people make them', () => {
  let expected: Buffer;
  before(async () => {
    expected = (await bundleOf(zip(entries()))).bytes;
  });

  const PYTHON = `
import sys, zipfile, pathlib
with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as archive:
    for path in sorted(pathlib.Path('demo').rglob('*')):
        archive.write(path)
`;
  const PYTHON_STREAMED = `
import sys, zipfile, pathlib
class Pipe:
    def __init__(self, raw): self.raw = raw
    def write(self, data): return self.raw.write(data)
    def flush(self): self.raw.flush()
with open(sys.argv[1], 'wb') as raw, zipfile.ZipFile(Pipe(raw), 'w', zipfile.ZIP_DEFLATED) as archive:
    for path in sorted(p for p in pathlib.Path('demo').rglob('*') if p.is_file()):
        with archive.open(str(path), 'w', force_zip64=True) as entry: entry.write(path.read_bytes())
`;
  const packers: [string, string, (archive: string) => string[]][] = [
    ['zip -r', 'zip', (archive) => ['-r', archive, 'demo']],
    ['zip -r without folders and extra fields', 'zip', (archive) => ['-rDX', archive, 'demo']],
    ['zip -0', 'zip', (archive) => ['-r0', archive, 'demo']],
    ['zip with ZIP64 records', 'zip', (archive) => ['-r', '-fz', archive, 'demo']],
    ['zip with data descriptors', 'zip', (archive) => ['-r', '-fd', archive, 'demo']],
    ['zip inside the folder', 'sh', (archive) => ['-c', `command -v zip || exit 127; cd demo && zip -r ${archive} .`]],
    ["Python's zipfile", 'python3', (archive) => ['-c', PYTHON, archive]],
    ["Python's zipfile into a pipe, ZIP64", 'python3', (archive) => ['-c', PYTHON_STREAMED, archive]],
    [
      "Python's shutil",
      'python3',
      (archive) => ['-c', `import shutil; shutil.make_archive(r'${archive}'[:-4], 'zip', '.', 'demo')`],
    ],
    ['bsdtar', 'bsdtar', (archive) => ['-a', '-cf', archive, './demo']],
    ['7z', '7z', (archive) => ['a', archive, 'demo']],
  ];
  for (const [what, command, args] of packers) {
    it(`the reader of skill packages takes what ${what} makes`, async function () {
      const archive = await packedBy(command, args);
      if (archive === null) skip(this, `${command} is not installed`);
      const bundle = await bundleOf(archive);
      expect(paths(bundle)).to.deep.equal(PATHS);
      expect(bundle.bytes.equals(expected)).to.equal(true);
    });
  }

  it('the reader of skill packages accepts archives from Finder: metadata files, data descriptors, UTF-8 names without their flag, NFD', async () => {
    const finder = entries({ dataDescriptor: true, flags: 0, mode: 0o100644 }).flatMap((entry) => {
      const name = String(entry.name).normalize('NFD');
      const litter = `__MACOSX/${name.replace(/([^/]+)$/, '._$1')}`;
      return [
        { ...entry, name },
        { ...entry, name: litter, content: '\0\x05\x16\x07' },
      ];
    });
    const archive = zip([
      { name: 'demo/', flags: 0, mode: 0o040755 },
      { name: 'demo/.DS_Store', content: 'Bud1', flags: 0, dataDescriptor: true },
      { name: '__MACOSX/', flags: 0 },
      { name: '__MACOSX/demo/', flags: 0 },
      { name: '.DS_Store', content: 'Bud1', flags: 0 },
      ...finder,
    ]);
    const bundle = await bundleOf(archive, 'Archive.zip');
    expect(paths(bundle)).to.deep.equal(PATHS);
    expect(bundle.bytes.equals(expected)).to.equal(true);
  });

  it('the reader of skill packages accepts archives that a browser page makes of dropped files: streamed, no folders', async () => {
    expect((await bundleOf(zip(entries({ dataDescriptor: true, flags: 0x808 })))).bytes.equals(expected)).to.equal(
      true,
    );
  });

  it('the reader of skill packages takes ZIP64 in every record, with and without data descriptors', async () => {
    for (const dataDescriptor of [false, true]) {
      const archive = zip(entries({ zip64: true, dataDescriptor }), { zip64End: true });
      expect((await bundleOf(archive)).bytes.equals(expected)).to.equal(true);
    }
  });

  it('the reader of skill packages takes names in code page 437, as old Windows packers write them', async () => {
    const bundle = await bundleOf(
      zip([
        { name: 'SKILL.md', content: skillMd(), flags: 0 },
        { name: Buffer.from([0x47, 0x72, 0x94, 0xe1, 0x65]), content: 'x', flags: 0 },
      ]),
    );
    expect(paths(bundle)).to.deep.equal(['Größe', 'SKILL.md']);
  });

  it('the reader of skill packages takes an archive with a comment', async () => {
    expect((await bundleOf(zip(entries(), { comment: 'made by hand' }))).bytes.equals(expected)).to.equal(true);
  });

  it('the reader of skill packages stores archives that unzip and Python can read', async function () {
    await inTempFolder(async (folder) => {
      const path = join(folder, 'stored.zip');
      await writeFile(path, expected);
      const listed = await run('python3', ['-m', 'zipfile', '-t', path]).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT' || error.code === 'EACCES') skip(this, 'python3 is not installed');
        throw error;
      });
      expect(listed.stdout).to.match(/Done testing/);
      const inspected = await run('unzip', ['-Z1', path], { env: { ...process.env, LC_ALL: 'C.UTF-8' } }).catch(
        () => null,
      );
      if (inspected !== null) expect(inspected.stdout.trim().split('\n')).to.deep.equal(PATHS);
    });
  });
});

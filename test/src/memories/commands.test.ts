import { expect } from 'chai';
import fc from 'fast-check';
import {
  foldersOf,
  planCommand,
  runCommand,
  viewRoot,
  type CommandResult,
  type MemoryFolder,
  type MemoryInput,
} from '../../../src/memories/commands.js';
import { MAX_FILE_BYTES, MAX_FILES, MAX_MEMORY_BYTES, MAX_VIEW_BYTES } from '../../../src/memories/limits.js';
import type { MemoryKind } from '../../../src/memories/owner.js';
import { MAX_WHOLE_BYTES } from '../../../src/steps/shorten-result.js';

type Texts = Record<string, string>;

const FOLDERS: MemoryFolder[] = [
  { of: 'user', isWritable: true },
  { of: 'project', isWritable: false },
];

/** Memories in a process: as the service runs a command, without a database. */
class Memories {
  readonly #texts = new Map<MemoryKind, Map<string, string>>();

  constructor(
    readonly folders: MemoryFolder[],
    texts: Partial<Record<MemoryKind, Texts>> = {},
  ) {
    for (const { of } of folders) this.#texts.set(of, new Map(Object.entries(texts[of] ?? {})));
  }

  async run(input: MemoryInput): Promise<Pick<CommandResult, 'text' | 'isError'>> {
    const planned = planCommand(this.folders, input);
    if ('isError' in planned) return shown(planned);
    const sizes = foldersOf(this.folders, planned).map((of) => [of, this.#sizesOf(of)] as const);
    if (planned.of === null) return shown(viewRoot(new Map(sizes)));
    const files = this.#texts.get(planned.of)!;
    const result = await runCommand(planned, sizes[0]![1], files.get(planned.path) ?? null);
    for (const change of result.changes) {
      if (change.kind === 'renamed') files.set(change.to, files.get(change.path)!);
      if (change.kind === 'created' || change.kind === 'modified') files.set(change.path, change.text);
      else files.delete(change.path);
    }
    return shown(result);
  }

  get texts(): Texts {
    return Object.fromEntries(
      [...this.#texts].flatMap(([of, files]) =>
        [...files].map(([path, text]) => [`/memories/${of}${path}`, text] as const),
      ),
    );
  }

  #sizesOf(of: MemoryKind): Map<string, number> {
    return new Map([...this.#texts.get(of)!].map(([path, text]) => [path, Buffer.byteLength(text)]));
  }
}

const shown = ({ text, isError }: CommandResult) => ({ text, isError });

describe('the commands of a memory', () => {
  const user = (texts: Texts): Memories => new Memories(FOLDERS, { user: texts });
  const of = async (texts: Texts, input: MemoryInput) => {
    const memories = user(texts);
    const { text, isError } = await memories.run(input);
    return { text, isError, texts: memories.texts };
  };
  const path = '/memories/user/a.md';

  const CASES: [name: string, texts: Texts, input: MemoryInput, text: string | RegExp, after?: Texts | 'same'][] = [
    ['a file with numbered lines', { '/a.md': 'x\r\ny\n' }, { command: 'view', path }, '     1\tx\r\n     2\ty'],
    ['an empty file', { '/a.md': '' }, { command: 'view', path }, '(The file is empty.)'],
    [
      'lines of a range, and of how many',
      { '/a.md': 'x\ny\nz' },
      { command: 'view', path, view_range: [2, 0] },
      '     2\ty\n     3\tz\n[lines 2-3 of 3]',
    ],
    [
      'nothing of a range with no line',
      { '/a.md': 'x' },
      { command: 'view', path, view_range: [2, 3] },
      /^"\/memories\/user\/a.md" has 1 lines; none/,
      'same',
    ],
    [
      'nothing of a range of an empty file',
      { '/a.md': '' },
      { command: 'view', path, view_range: [1, 0] },
      /has 0 lines/,
      'same',
    ],
    [
      'a folder two levels deep, in the order of bytes',
      { '/b/c/d': '1', '/b.md': 'ä', '/b/x': '', '/é': '', '/z': '' },
      { command: 'view', path: '/memories/user' },
      '/memories/user/b/\n/memories/user/b.md\t2\n/memories/user/b/c/\n/memories/user/b/x\t0\n/memories/user/z\t0\n/memories/user/é\t0',
    ],
    [
      'the folders of all memories',
      { '/b/c': '1' },
      { command: 'view', path: '/memories' },
      '/memories/project/\n/memories/user/\n/memories/user/b/',
    ],
    ['an empty memory', {}, { command: 'view', path: '/memories/user' }, '(The folder is empty.)'],
    ['a new file', {}, { command: 'create', path, file_text: 'x' }, 'Created "/memories/user/a.md".', { '/a.md': 'x' }],
    [
      'no file over another one',
      { '/a.md': 'x' },
      { command: 'create', path, file_text: 'y' },
      /is there already/,
      'same',
    ],
    [
      'no file over a folder',
      { '/a.md/b': 'x' },
      { command: 'create', path, file_text: 'y' },
      /is there already/,
      'same',
    ],
    [
      'nothing below a file',
      { '/a.md': 'x' },
      { command: 'create', path: `${path}/b`, file_text: 'y' },
      /cannot be there: \/a.md is a file/,
      'same',
    ],
    [
      'a text that is replaced literally, with its line ends',
      { '/a.md': 'a$b\r\nc' },
      { command: 'str_replace', path, old_str: '$b\r', new_str: "$&$'" },
      /^Replaced once/,
      { '/a.md': "a$&$'\nc" },
    ],
    [
      'a text that is removed',
      { '/a.md': 'abc' },
      { command: 'str_replace', path, old_str: 'b' },
      /^Replaced once/,
      { '/a.md': 'ac' },
    ],
    [
      'a text that is there twice',
      { '/a.md': 'aa' },
      { command: 'str_replace', path, old_str: 'a' },
      /has old_str 2 times/,
      'same',
    ],
    [
      'a text that is not there',
      { '/a.md': 'a' },
      { command: 'str_replace', path, old_str: 'b' },
      /has old_str 0 times/,
      'same',
    ],
    [
      'an empty old_str',
      { '/a.md': 'a' },
      { command: 'str_replace', path, old_str: '' },
      /old_str must not be empty/,
      'same',
    ],
    [
      'a folder that is no file',
      { '/b/c': 'a' },
      { command: 'str_replace', path: '/memories/user/b', old_str: 'b' },
      /is a folder/,
      'same',
    ],
    [
      'lines at the begin',
      { '/a.md': 'x' },
      { command: 'insert', path, insert_line: 0, insert_text: 'y' },
      /^Inserted after line 0/,
      { '/a.md': 'y\nx' },
    ],
    [
      'lines behind a last line without line feed',
      { '/a.md': 'x\ny' },
      { command: 'insert', path, insert_line: 2, insert_text: 'z' },
      /^Inserted/,
      { '/a.md': 'x\ny\nz\n' },
    ],
    [
      'an empty line',
      { '/a.md': 'x\n' },
      { command: 'insert', path, insert_line: 1, insert_text: '' },
      /^Inserted/,
      { '/a.md': 'x\n\n' },
    ],
    [
      'no line beyond the last one',
      { '/a.md': 'x\n' },
      { command: 'insert', path, insert_line: 2, insert_text: 'y' },
      /has 1 lines, so there is no line 2/,
      'same',
    ],
    [
      'a file that goes',
      { '/a.md': 'x', '/b': '' },
      { command: 'delete', path },
      'Deleted "/memories/user/a.md".',
      { '/b': '' },
    ],
    [
      'a folder that goes with all in it',
      { '/a/b': 'x', '/a/c/d': '', '/ab': '' },
      { command: 'delete', path: '/memories/user/a' },
      'Deleted "/memories/user/a" with 2 files.',
      { '/ab': '' },
    ],
    [
      'no memory itself',
      { '/a': 'x' },
      { command: 'delete', path: '/memories/user' },
      /itself cannot be changed/,
      'same',
    ],
    ['not all memories', { '/a': 'x' }, { command: 'delete', path: '/memories' }, /itself cannot be changed/, 'same'],
    [
      'a folder under another name',
      { '/a/b': 'x', '/a/c/d': 'y' },
      { command: 'rename', old_path: '/memories/user/a', new_path: '/memories/user/n/m' },
      'Renamed "/memories/user/a" to "/memories/user/n/m".',
      { '/n/m/b': 'x', '/n/m/c/d': 'y' },
    ],
    [
      'no rename to what is there',
      { '/a': 'x', '/b': 'y' },
      { command: 'rename', old_path: '/memories/user/a', new_path: '/memories/user/b' },
      /is there already/,
      'same',
    ],
    [
      'no folder in itself',
      { '/a/b': 'x' },
      { command: 'rename', old_path: '/memories/user/a', new_path: '/memories/user/a/c' },
      /cannot be moved into itself/,
      'same',
    ],
    [
      'no rename to another memory',
      { '/a': 'x' },
      { command: 'rename', old_path: '/memories/user/a', new_path: '/memories/project/a' },
      /within one folder/,
      'same',
    ],
    [
      'no change of a memory that is read only',
      {},
      { command: 'create', path: '/memories/project/a', file_text: '' },
      /can only be read/,
      'same',
    ],
    ['a missing field', {}, { command: 'create', path }, 'Wrong input: create needs file_text.', 'same'],
    ['a text with NUL', {}, { command: 'create', path, file_text: '\0' }, /has NUL/, 'same'],
    ['half of a character', {}, { command: 'create', path, file_text: '\ud83d' }, /half of a character/, 'same'],
    [
      'a file of 100 KiB',
      {},
      { command: 'create', path, file_text: 'x'.repeat(MAX_FILE_BYTES) },
      /^Created/,
      { '/a.md': 'x'.repeat(MAX_FILE_BYTES) },
    ],
    [
      'no larger file',
      {},
      { command: 'create', path, file_text: 'x'.repeat(MAX_FILE_BYTES + 1) },
      /at most 102400/,
      'same',
    ],
    [
      'no replacement that makes it larger',
      { '/a.md': 'x'.repeat(MAX_FILE_BYTES - 1) + 'y' },
      { command: 'str_replace', path, old_str: 'y', new_str: 'yy' },
      /at most 102400/,
      'same',
    ],
  ];
  for (const [name, texts, input, text, after] of CASES) {
    it(`the commands of a memory: ${input.command} has ${name}`, async () => {
      const result = await of(texts, input);
      if (typeof text === 'string') expect(result.text).to.equal(text);
      else expect(result.text).to.match(text);
      const isRefused = after === 'same' || text === 'Wrong input: create needs file_text.';
      expect(result.isError).to.equal(isRefused);
      expect(result.texts).to.deep.equal(user(after === undefined || after === 'same' ? texts : after).texts);
    });
  }

  it('the commands of a memory keep its limits of files and bytes, and name them', async () => {
    const full = Object.fromEntries(Array.from({ length: MAX_FILES }, (_, n) => [`/${n}`, '']));
    expect((await of(full, { command: 'create', path, file_text: '' })).text).to.include('at most 1000 files');
    expect((await of(full, { command: 'rename', old_path: '/memories/user/1', new_path: path })).isError).to.equal(
      false,
    );
    const size = 95 * 1024;
    const count = Math.floor(MAX_MEMORY_BYTES / size);
    const heavy = Object.fromEntries(Array.from({ length: count }, (_, n) => [`/${n}`, 'x'.repeat(size)]));
    const room = MAX_MEMORY_BYTES - count * size;
    expect((await of(heavy, { command: 'create', path, file_text: 'x'.repeat(room) })).isError).to.equal(false);
    const refused = await of(heavy, { command: 'create', path, file_text: 'x'.repeat(room + 1) });
    expect(refused.text).to.include(`at most ${MAX_MEMORY_BYTES} bytes`);
  });

  it('the commands of a memory show at most 48 KiB: whole lines, and how many there are', async () => {
    expect(MAX_VIEW_BYTES).to.be.at.most(MAX_WHOLE_BYTES);
    const lines = Array.from({ length: 4000 }, (_, n) => `line ${n} é`).join('\n');
    const file = (await of({ '/a.md': lines }, { command: 'view', path })).text;
    expect(Buffer.byteLength(file))
      .to.be.at.most(MAX_VIEW_BYTES)
      .and.above(MAX_VIEW_BYTES - 60);
    const [, last] = /\n\[lines 1-(\d+) of 4000\]$/.exec(file)!;
    expect(file.split('\n').at(-2)).to.equal(`${last!.padStart(6)}\tline ${Number(last) - 1} é`);
    const long = (await of({ '/a.md': 'é'.repeat(40_000) }, { command: 'view', path })).text;
    expect(Buffer.byteLength(long)).to.be.at.most(MAX_VIEW_BYTES);
    expect(long).to.match(/^ {5}1\té+\n\[lines 1-1 of 1\]$/);
    const many = Object.fromEntries(
      Array.from({ length: 1000 }, (_, n) => [`/${'n'.repeat(90)}${`${n}`.padStart(4, '0')}`, 'x']),
    );
    const folder = (await of(many, { command: 'view', path: '/memories/user' })).text.split('\n');
    expect(folder.at(-1)).to.equal(`[${1000 - (folder.length - 1)} more]`);
    expect(Buffer.byteLength(folder.join('\n')))
      .to.be.at.most(MAX_VIEW_BYTES)
      .and.above(MAX_VIEW_BYTES - 150);
  });

  const PATHS: [string, boolean][] = [
    [`/memories/user/${'x'.repeat(100)}`, true],
    [`/memories/user/${'😀'.repeat(100)}`, true],
    [`/memories/user/${'x'.repeat(101)}`, false],
    [`/memories/user/${'x'.repeat(100)}/${'x'.repeat(100)}/${'x'.repeat(39)}`, true],
    [`/memories/user/${'x'.repeat(100)}/${'x'.repeat(100)}/${'x'.repeat(40)}`, false],
    ['/memories/user/a b…$&', true],
    ...['/memories/user/a\n', '/memories/user/a\u0085', '/memories/user/a\\b', '/memories/user//a'].map(
      (path): [string, boolean] => [path, false],
    ),
    ...['/memories/user/a/', '/memories/user/.', '/memories/user/../project/a', '/memories/users/a', 'a'].map(
      (path): [string, boolean] => [path, false],
    ),
    ...['/memories/agent/a', '/memories/user', '/etc/passwd', '', '/memories/user/\ud800'].map(
      (path): [string, boolean] => [path, false],
    ),
    ['/memories/user/...', true],
    ['/memories/user/%2e%2e', true],
  ];
  it('the commands of a memory take paths as they are written, and no others', async () => {
    for (const [path, isTaken] of PATHS) {
      const { isError, texts } = await of({}, { command: 'create', path, file_text: 'x' });
      expect(isError, JSON.stringify(path)).to.equal(!isTaken);
      expect(Object.keys(texts)).to.deep.equal(isTaken ? [path] : []);
      if (isTaken) expect((await of({ [path.slice(14)]: 'x' }, { command: 'view', path })).text).to.equal('     1\tx');
    }
  });

  it('the commands of a memory reach a file that a client has put at the longest path', async () => {
    const longest = `/${'x'.repeat(100)}/${'x'.repeat(100)}/${'x'.repeat(53)}`;
    const memories = user({ [longest]: 'x' });
    expect((await memories.run({ command: 'view', path: `/memories/user${longest}` })).text).to.equal('     1\tx');
    expect((await memories.run({ command: 'delete', path: `/memories/user${longest}` })).isError).to.equal(false);
  });

  it('the commands of a memory do what a plain model of them does, byte for byte, over thousands of sequences', async () => {
    const word = fc.constantFrom('a', 'b', 'a.md', 'é', '...', '.', '');
    const below = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join('/'));
    const path = fc.oneof(
      { weight: 8, arbitrary: below.map((rest) => `/memories/user/${rest}`) },
      { weight: 1, arbitrary: below.map((rest) => `/memories/project/${rest}`) },
      { weight: 1, arbitrary: fc.constantFrom('/memories', '/memories/user', '/memories/project', '/memories/x', 'a') },
    );
    const piece = fc.constantFrom('a', 'b', '\n', '\r\n', 'é', '$&', '😀', 'aa');
    const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
    const line = fc.integer({ min: 0, max: 5 });
    const input: fc.Arbitrary<MemoryInput> = fc.oneof(
      fc.record({ command: fc.constant('view' as const), path }),
      fc.record({
        command: fc.constant('view' as const),
        path,
        view_range: fc.tuple(line, fc.integer({ min: -1, max: 5 })),
      }),
      fc.record({ command: fc.constant('create' as const), path, file_text: text }),
      fc.record({ command: fc.constant('create' as const), path, file_text: text }),
      fc.record({ command: fc.constant('str_replace' as const), path, old_str: text, new_str: text }),
      fc.record({ command: fc.constant('str_replace' as const), path, old_str: piece }),
      fc.record({ command: fc.constant('insert' as const), path, insert_line: line, insert_text: text }),
      fc.record({ command: fc.constant('delete' as const), path }),
      fc.record({ command: fc.constant('rename' as const), old_path: path, new_path: path }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(input, { maxLength: 30 }), async (inputs) => {
        const [memories, plain] = [new Memories(FOLDERS), new PlainMemories()];
        for (const one of inputs) {
          const [real, expected] = [await memories.run(one), plain.run(one)];
          expect(real.isError, JSON.stringify(one)).to.equal(expected === null);
          if (expected !== null) expect(real.text, JSON.stringify(one)).to.equal(expected);
          expect(memories.texts, JSON.stringify(one)).to.deep.equal(Object.fromEntries(plain.files));
        }
      }),
      { numRuns: 10_000 },
    );
  });
});

/** The six commands as plainly as they can be said: on whole paths, character by character. A null is an error result. */
class PlainMemories {
  readonly files = new Map<string, string>();

  run({ command, ...input }: MemoryInput): string | null {
    const { path = '', old_path: from = '', new_path: to = '' } = input;
    if (command === 'view') return this.#view(path, input.view_range);
    if (command === 'create') {
      if (!this.#isFree(path)) return null;
      this.files.set(path, input.file_text!);
      return `Created ${JSON.stringify(path)}.`;
    }
    if (command === 'delete') {
      if (!isInUser(path)) return null;
      const gone = this.#under(path);
      for (const each of gone) this.files.delete(each);
      if (gone.length === 0) return null;
      if (gone[0] === path) return `Deleted ${JSON.stringify(path)}.`;
      return `Deleted ${JSON.stringify(path)} with ${gone.length} file${gone.length === 1 ? '' : 's'}.`;
    }
    if (command === 'rename') {
      const moved = isInUser(from) ? this.#under(from) : [];
      if (moved.length === 0 || !this.#isFree(to) || to.startsWith(`${from}/`)) return null;
      for (const each of moved) {
        this.files.set(to + each.slice(from.length), this.files.get(each)!);
        this.files.delete(each);
      }
      return `Renamed ${JSON.stringify(from)} to ${JSON.stringify(to)}.`;
    }
    const text = isInUser(path) ? this.files.get(path) : undefined;
    if (text === undefined) return null;
    if (command === 'str_replace') {
      const parts = input.old_str === '' ? [] : text.split(input.old_str!);
      if (parts.length !== 2) return null;
      this.files.set(path, parts[0]! + (input.new_str ?? '') + parts[1]!);
      return `Replaced once in ${JSON.stringify(path)}.`;
    }
    const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
    const at = input.insert_line!;
    if (at > lines.length) return null;
    const inserted = /\n$/.test(input.insert_text!) ? input.insert_text! : `${input.insert_text!}\n`;
    const before = lines.slice(0, at).map((each) => (each.endsWith('\n') ? each : `${each}\n`));
    this.files.set(path, [...before, inserted, ...lines.slice(at)].join(''));
    return `Inserted after line ${at} in ${JSON.stringify(path)}.`;
  }

  #view(path: string, range?: [number, number]): string | null {
    const text = this.files.get(path);
    if (text !== undefined) {
      const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
      const [first, end] = range ?? [1, 0];
      const last = end < 1 ? lines.length : end;
      const seen = lines
        .map((line, index) => [index + 1, line.replace(/\n$/, '')] as const)
        .filter(([number]) => number >= first && number <= last);
      if (range !== undefined && seen.length === 0) return null;
      if (lines.length === 0) return '(The file is empty.)';
      const note = seen.length < lines.length ? [`[lines ${seen[0]![0]}-${seen.at(-1)![0]} of ${lines.length}]`] : [];
      return [...seen.map(([number, line]) => `${' '.repeat(6 - `${number}`.length)}${number}\t${line}`), ...note].join(
        '\n',
      );
    }
    const folders = new Set(['/memories', '/memories/user', '/memories/project']);
    for (const each of this.files.keys())
      for (let at = each.indexOf('/', 1); at > 0; at = each.indexOf('/', at + 1)) folders.add(each.slice(0, at));
    if (!folders.has(path)) return null;
    const depth = (each: string): number => each.slice(path.length).split('/').length - 1;
    const entries = [
      ...[...folders].map((each) => [each, '/']),
      ...[...this.files].map(([each, file]) => [each, `\t${Buffer.byteLength(file)}`]),
    ]
      .filter(([each]) => each!.startsWith(`${path}/`) && depth(each!) <= 2)
      .sort(([a], [b]) => Buffer.compare(Buffer.from(a!), Buffer.from(b!)));
    return entries.map((parts) => parts.join('')).join('\n') || '(The folder is empty.)';
  }

  /** A new file or folder may be there: it is in the memory that can be written, nothing is there, and no file above it. */
  #isFree(path: string): boolean {
    if (!isInUser(path) || this.#under(path).length > 0) return false;
    return ![...this.files.keys()].some((each) => path.startsWith(`${each}/`));
  }

  #under(path: string): string[] {
    return [...this.files.keys()].filter((each) => each === path || each.startsWith(`${path}/`));
  }
}

function isInUser(path: string): boolean {
  const segments = path.split('/');
  return (
    segments.length > 3 &&
    path.startsWith('/memories/user/') &&
    !segments.slice(3).some((each) => each === '' || each === '.')
  );
}

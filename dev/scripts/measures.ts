/**
 * `npm run measures`: counts what makes this code hard or easy to read. Lines are those with something on them; comments count.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CORE_PATH, countFeatureWords, MESSAGE_PATH } from './core-path.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const PRODUCTION = ['src', 'api', 'activities', 'workflows', 'ops', 'client/src', 'console/src'];
const TOOLS = ['dev', 'temporal-dev', 'bench', 'client', 'deploy'];
const CODE = /\.(ts|tsx|mts|mjs)$/;

const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((name) => CODE.test(name));
const texts = new Map(files.map((name) => [name, readFileSync(join(root, name), 'utf8')]));
/** The lines of a file, or none if there is no such file. */
const linesOf = (name: string): string[] => texts.get(name)?.split('\n') ?? [];
const inFolders = (folders: string[]): string[] =>
  files.filter((name) => folders.some((folder) => name.startsWith(`${folder}/`)));
const lines = (names: string[]): number => names.flatMap(linesOf).filter((line) => line.trim() !== '').length;

const production = inFolders(PRODUCTION);
const tools = inFolders(TOOLS).filter((name) => !production.includes(name));
const tests = inFolders(['test']);

/** Every import of one file by another, types included. */
function imports(names: string[]): { from: string; to: string }[] {
  return names.flatMap((from) =>
    [...texts.get(from)!.matchAll(/(?:from|import)\s*\(?'(\.{1,2}\/[^']+)'/g)].map(([, to]) => ({
      from,
      to: normalize(join(dirname(from), to!)).replace(/\.js$/, '.ts'),
    })),
  );
}

/** Pairs of rooms that import each other. */
function circles(names: string[], roomOf: (name: string) => string | undefined): string[] {
  const arrows = new Set<string>();
  for (const { from, to } of imports(names)) {
    const [a, b] = [roomOf(from), roomOf(to)];
    if (a !== undefined && b !== undefined && a !== b) arrows.add(`${a} → ${b}`);
  }
  return [...arrows].filter((arrow) => {
    const [a, b] = arrow.split(' → ') as [string, string];
    return a < b && arrows.has(`${b} → ${a}`);
  });
}

function comments(names: string[]): { exported: number; commented: number } {
  let exported = 0;
  let commented = 0;
  for (const name of names) {
    const all = linesOf(name);
    all.forEach((line, index) => {
      if (!/^export (async )?(function|class) /.test(line)) return;
      exported += 1;
      if (/\*\/\s*$/.test(all[index - 1] ?? '')) commented += 1;
    });
  }
  return { exported, commented };
}

/** Types that describe a turn as a row or an object, under whatever name. A mere `Pick` of another one is none. */
const shapes = production.flatMap((name) =>
  [
    ...texts
      .get(name)!
      .matchAll(/^(?:export )?(?:interface|type) (\w*Turn(?:Row|Input|Context|Summary)?)\b(?! = '| = \(| = Pick<)/gm),
  ].map(([, type]) => type),
);
/** What a turn is made of. */
const HEART = [
  ...['turns', 'steps', 'waits', 'tasks', 'messages', 'events', 'stream', 'temporal', 'workers', 'reconciler'].map(
    (room) => `src/${room}`,
  ),
  'activities/turn',
  'workflows',
];
const { exported, commented } = comments(production);
const large = production.filter((name) => linesOf(name).length > 201);
const top = (name: string): string | undefined => name.split('/')[0];
const room = (name: string): string | undefined => /^src\/([^/]+)\//.exec(name)?.[1];

const words = countFeatureWords();

const rows: [title: string, value: string | number][] = [
  ['rooms of src that import each other', circles(production, room).join(', ') || 'none'],
  [
    'top folders that import each other (values and types)',
    circles([...production, ...tools], top).join(', ') || 'none',
  ],
  ['production and tools, hand-written lines', lines(production) + lines(tools)],
  ['  of these: src, api, activities, workflows', lines(inFolders(['src', 'api', 'activities', 'workflows']))],
  ['  the heart: src/{turns … reconciler}, activities/turn, workflows', lines(inFolders(HEART))],
  ['tests, lines', lines(tests)],
  ['files of production over 200 lines', large.join(', ') || 'none'],
  ['shapes of a turn', `${shapes.length} (${shapes.join(', ')})`],
  ['exported functions and classes with a comment', `${Math.round((100 * commented) / exported)} % of ${exported}`],
  [
    'files to read on the path of a message (docs/architecture.md)',
    `${MESSAGE_PATH.length}, ${lines(MESSAGE_PATH)} lines`,
  ],
  ['  of these the core, without MCP', `${CORE_PATH.length}, ${lines(CORE_PATH)} lines`],
  ['words of features in the core’s path, without routes.ts', words.reduce((sum, { count }) => sum + count, 0)],
  ...words.filter(({ count }) => count > 0).map(({ name, count }): [string, number] => [`  ${name}`, count]),
];
for (const [title, value] of rows) console.log(`${title.padEnd(64)} ${value}`);

/**
 * `npm run compare -- REV [REV]`: what changed for users and operators from one revision to another (without a second one: to the
 * files as they are): the OpenAPI document, events, error types, metrics and settings. Ends with 1 if something did.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' });

function interfaceIn(folder: string): unknown {
  const args = ['--import', 'tsx', join(root, 'dev/scripts/interface.ts')];
  return JSON.parse(execFileSync('node', args, { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 28 }));
}

/** A revision runs with today's packages. */
function interfaceOf(revision: string | undefined): unknown {
  if (revision === undefined) return interfaceIn(root);
  const folder = join(mkdtempSync(join(tmpdir(), 'compare-')), 'tree');
  try {
    git('worktree', 'add', '--quiet', '--detach', folder, revision);
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    return interfaceIn(folder);
  } finally {
    git('worktree', 'remove', '--force', folder);
    rmSync(join(folder, '..'), { recursive: true });
  }
}

const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null;
const shown = (value: unknown): string => {
  const text = JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
};

/** A list by the names of its items, so that a new item is not taken for a change of those behind it. */
function named(value: object): Record<string, unknown> {
  if (!Array.isArray(value)) return value as Record<string, unknown>;
  return Object.fromEntries(
    value.map((one: { name?: string; title?: string; $ref?: string } | null, index) => [
      one?.name ?? one?.title ?? one?.$ref ?? index,
      one,
    ]),
  );
}

/** One line for each difference. A part that one side lacks is one line, however large. */
function* differences(before: unknown, after: unknown, path = ''): Generator<string> {
  if (!isBranch(before) || !isBranch(after)) {
    if (before === undefined) yield `+ ${path} ${shown(after)}`;
    else if (after === undefined) yield `- ${path} ${shown(before)}`;
    else if (before !== after) yield `~ ${path} ${shown(before)} → ${shown(after)}`;
    return;
  }
  if (Array.isArray(before) && Array.isArray(after) && before.every((one) => !isBranch(one))) {
    for (const one of before) if (!after.includes(one)) yield `- ${path} ${shown(one)}`;
    for (const one of after) if (!before.includes(one)) yield `+ ${path} ${shown(one)}`;
    return;
  }
  const [old, now] = [named(before), named(after)];
  for (const name of new Set([...Object.keys(old), ...Object.keys(now)])) {
    yield* differences(old[name], now[name], path === '' ? name : `${path} ▸ ${name}`);
  }
}

const [from, to] = process.argv.slice(2);
if (from === undefined) throw new Error('name one or two revisions: npm run compare -- main~10 main');
const lines = [...differences(interfaceOf(from), interfaceOf(to))];
console.log(lines.length === 0 ? 'no difference' : lines.join('\n'));
process.exitCode = lines.length === 0 ? 0 : 1;

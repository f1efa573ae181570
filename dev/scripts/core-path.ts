/** The files that a reader of a turn reads, by docs/architecture.md, and the words of features in them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The tables of docs/architecture.md: a path, what to read in it, what it says. A file of two legs counts once. */
export const MESSAGE_PATH = [
  ...new Set(
    [...readFileSync(join(root, 'docs/architecture.md'), 'utf8').matchAll(/^\| `([\w/-]+\.ts)` \| `\w+` \|/gm)].map(
      ([, name]) => name!,
    ),
  ),
];

/** The same without the files of MCP, which only calls of MCP servers' tools pass. */
export const CORE_PATH = MESSAGE_PATH.filter((name) => !name.includes('/mcp/'));

const FEATURE_WORDS =
  /sandbox|workspace|elicit|authoriz|mcp|budget|fallback|steer|output|skill|schedule|webhook|task|question|compact/gi;

/** How many words of features each file of the core's path has. The table of routes names all operations, so it is left out. */
export function countFeatureWords(): { name: string; count: number }[] {
  return CORE_PATH.filter((name) => name !== 'api/routes.ts')
    .map((name) => ({ name, count: readFileSync(join(root, name), 'utf8').match(FEATURE_WORDS)?.length ?? 0 }))
    .sort((a, b) => b.count - a.count);
}

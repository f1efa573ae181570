import type { Dirent } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { AgentSessionClient } from '../client.js';
import { fromPath } from '../node.js';
import type { UploadSource } from '../upload.js';
import type { Arguments } from './arguments.js';
import { expectPositionals, rows } from './lists.js';
import type { Screen } from './screen.js';
import { EXIT, UsageError } from './usage.js';
import { zip } from './zip.js';

/** A folder with more files is not a skill: the service refuses it too. */
const MAX_FILES = 10_000;

/** `skills push`: uploads a folder or a package. A skill of the same name is replaced. */
export async function skillsPush(client: AgentSessionClient, args: Arguments, out: Screen): Promise<number> {
  const [path] = expectPositionals(args.positionals, 1, 'skills push FOLDER|ZIP');
  const skill = await client.uploadSkill(await sourceOf(path!), { replace: true });
  rows(out, args.options, [skill], ({ id, name, size_bytes: size }) => [id, name, `${size} bytes`]);
  return EXIT.completed;
}

/** @throws UsageError if it cannot be read */
async function sourceOf(path: string): Promise<UploadSource> {
  try {
    if (!(await stat(path)).isDirectory()) return await fromPath(path);
    const files = await filesIn(path);
    if (!files.includes('SKILL.md')) throw new UsageError(`The folder ${path} has no SKILL.md`);
    const entries = await Promise.all(files.map(async (name) => ({ name, content: await readFile(join(path, name)) })));
    return { filename: `${basename(resolve(path))}.zip`, content: zip(entries) };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`,
    );
  }
}

/** Paths of the files below a folder, with slashes. What begins with a dot, and links, are no part of a skill. */
async function filesIn(folder: string, prefix = ''): Promise<string[]> {
  const found: string[] = [];
  const entries: Dirent[] = await readdir(join(folder, prefix), { withFileTypes: true });
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    if (entry.name.startsWith('.')) continue;
    const name = prefix + entry.name;
    if (entry.isDirectory()) found.push(...(await filesIn(folder, `${name}/`)));
    else if (entry.isFile()) found.push(name);
    if (found.length > MAX_FILES) throw new UsageError(`The folder ${folder} has more than ${MAX_FILES} files`);
  }
  return found;
}

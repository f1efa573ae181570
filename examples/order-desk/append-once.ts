import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const DATA = process.env.DESK_DATA ?? '.data';

/** One entry of a file: what happened under a key. */
export type Entry = { key: string } & Record<string, unknown>;

export function entries(file: string): Entry[] {
  const path = join(DATA, file);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Entry);
}

/** Appends an entry unless its key is there, and returns whether it did. A table with a unique key, as a file. */
export function appendOnce(file: string, entry: Entry): boolean {
  if (entries(file).some(({ key }) => key === entry.key)) return false;
  mkdirSync(DATA, { recursive: true });
  appendFileSync(join(DATA, file), `${JSON.stringify({ ...entry, at: new Date().toISOString() })}\n`, { flush: true });
  return true;
}

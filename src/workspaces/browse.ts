import { isBelow, KEPT_FOLDERS } from './layout.js';
import { comparePaths, type TreeEntry, type Manifest } from './manifest.js';

/** The kept folders and those above them: each tree has them, and none can be changed. In the order of their paths. */
const FIXED_FOLDERS: TreeEntry[] = [...new Set(KEPT_FOLDERS.flatMap(({ path }) => [...foldersAbove(path), path]))]
  .sort(comparePaths)
  .map((path) => ({
    kind: 'directory',
    path,
    mode: (KEPT_FOLDERS.find((kept) => kept.path === path)?.mode ?? 0o755) & 0o777,
  }));

/** `/a/b/c` → `/a`, `/a/b`. */
function foldersAbove(path: string): string[] {
  const names = path.split('/').slice(1, -1);
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
}

/** Finds an entry by its path as it is written: links are not followed. */
export function findEntry({ entries }: Manifest, path: string): TreeEntry | null {
  const fixed = FIXED_FOLDERS.find((folder) => folder.path === path);
  if (fixed !== undefined) return fixed;
  const found = entries[firstFrom(entries, path)];
  return found?.path === path ? found : null;
}

export function hasFolder(manifest: Manifest, path: string): boolean {
  return path === '/' || findEntry(manifest, path)?.kind === 'directory';
}

/** The entries of all levels below a folder, in the order of their paths: at most `limit` of those behind the path `after`. */
export function entriesBelow({ entries }: Manifest, folder: string, after = '', limit = Infinity): TreeEntry[] {
  const isListed = ({ path }: TreeEntry): boolean => isBelow(folder, path) && comparePaths(path, after) > 0;
  const prefix = folder === '/' ? '/' : `${folder}/`;
  const listed: TreeEntry[] = [];
  for (let at = firstFrom(entries, comparePaths(after, prefix) > 0 ? after : prefix); listed.length < limit; at += 1) {
    const entry = entries[at];
    if (entry === undefined || !isBelow(folder, entry.path)) break;
    if (entry.path !== after) listed.push(entry);
  }
  // Each at its place: to sort all entries again would compare every long path of a large tree in one piece.
  for (const fixed of FIXED_FOLDERS.filter(isListed)) listed.splice(firstFrom(listed, fixed.path), 0, fixed);
  return listed.length > limit ? listed.slice(0, limit) : listed;
}

/** Index of the first entry whose path is not before `path`. */
function firstFrom(entries: TreeEntry[], path: string): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (comparePaths(entries[middle]!.path, path) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

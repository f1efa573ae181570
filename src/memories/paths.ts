import { codePointLength } from '../platform/text.js';
import { MAX_PATH_LENGTH, MAX_SEGMENT_LENGTH } from './limits.js';

/**
 * What is wrong with an absolute path of a file or folder; null if nothing is. It ends a sentence that begins with the path.
 * @param path as it was written: nothing is resolved
 * @param maxLength in characters
 */
export function pathProblem(path: string, maxLength = MAX_PATH_LENGTH): string | null {
  if (!path.isWellFormed()) return 'has half of a character';
  if (!path.startsWith('/')) return 'must be absolute: it must begin with /';
  if (codePointLength(path) > maxLength) return `must have at most ${maxLength} characters`;
  for (const segment of path.slice(1).split('/')) {
    if (segment === '') return 'must not have an empty segment, and not end with /';
    if (segment === '.' || segment === '..') return `must not have a segment ${segment}`;
    if (codePointLength(segment) > MAX_SEGMENT_LENGTH)
      return `must have at most ${MAX_SEGMENT_LENGTH} characters in a segment`;
    if (/[\p{Cc}\\]/u.test(segment)) return 'must not have control characters or backslashes';
  }
  return null;
}

/** What the paths of everything in a folder begin with. `/` is the whole memory. */
export function prefixOf(folder: string): string {
  return folder === '/' ? '/' : `${folder}/`;
}

/** The folders above a path, the nearest one last, without `/`: `/a/b/c` → `/a`, `/a/b`. */
export function foldersAbove(path: string): string[] {
  const segments = path.split('/').slice(1, -1);
  return segments.map((_, index) => `/${segments.slice(0, index + 1).join('/')}`);
}

/** The order of paths: that of their bytes in UTF-8. */
export function comparePaths(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Why a file cannot be at a path beside these files; null if it can, also where one is there already. */
export function placeProblem(files: ReadonlyMap<string, unknown>, path: string): string | null {
  const above = foldersAbove(path).find((folder) => files.has(folder));
  if (above !== undefined) return `cannot be there: ${above} is a file`;
  return isFolder(files, path) ? 'is a folder' : null;
}

/** A folder is there as long as a file is in it. */
export function isFolder(files: ReadonlyMap<string, unknown>, path: string): boolean {
  return pathsBelow(files, path).length > 0;
}

/** The paths of all files in a folder, at all levels. */
export function pathsBelow(files: ReadonlyMap<string, unknown>, folder: string): string[] {
  const prefix = prefixOf(folder);
  return [...files.keys()].filter((path) => path.startsWith(prefix));
}

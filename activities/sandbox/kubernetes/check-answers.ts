import { Pauses } from '../../../src/platform/pauses.js';
import {
  KEPT_FOLDERS,
  MAX_ENTRIES,
  MAX_NAME_BYTES,
  MAX_PATH_BYTES,
  MAX_TARGET_BYTES,
} from '../../../src/workspaces/layout.js';
import { comparePaths, entryBytes, nameBytes, type TreeEntry } from '../../../src/workspaces/manifest.js';
import { SandboxFailedError, type CommandEnd } from '../../../src/workspaces/sandbox.js';

interface Scan {
  entries: TreeEntry[];
  notKept: number;
  isOver: boolean;
}

const MAX_CWD_BYTES = 8 * 1024;

/*
 * A command that has broken out of bubblewrap could answer in the daemon's place, and what a pod says goes into the manifest, into
 * archives and to the model.
 */

/** Checks how a command ended. @throws SandboxFailedError */
export function checkEnd(end: CommandEnd | undefined): CommandEnd {
  if (typeof end !== 'object' || end === null || typeof end.ms !== 'number') throw invalid('the end of a command');
  const { code, stopped, cwd, ms } = end;
  const isStopped = stopped === 'timeout' || stopped === 'memory' || stopped === 'disk';
  if (isStopped ? code !== null : stopped !== null || !isCount(code) || code > 255) throw invalid('an exit code');
  if (cwd !== null && !(isText(cwd, MAX_CWD_BYTES) && cwd.startsWith('/'))) throw invalid('a working directory');
  return { code, stopped, cwd, ms: Math.max(0, Math.round(ms)) };
}

/** Checks what a tree is after a command, and returns its entries. @throws SandboxFailedError */
export async function checkScan({ entries, notKept, isOver }: Scan, maxBytes: number): Promise<TreeEntry[]> {
  if (!Array.isArray(entries) || !isCount(notKept) || typeof isOver !== 'boolean') throw invalid('its scan');
  if (entries.length > MAX_ENTRIES) throw invalid('the number of its entries');
  const pauses = new Pauses();
  const checked: TreeEntry[] = [];
  let [bytes, names] = [0, 0];
  const folders = new Set<string>(KEPT_FOLDERS.map(({ path }) => path));
  for (const one of entries) {
    if (pauses.isDue) await pauses.take();
    const entry = checkEntry(one);
    const before = checked.at(-1);
    if (before !== undefined && comparePaths(before.path, entry.path) >= 0) throw invalid('the order of its entries');
    if (!folders.has(entry.path.slice(0, entry.path.lastIndexOf('/')))) throw invalid('a path');
    if (entry.kind === 'directory') folders.add(entry.path);
    names += nameBytes(entry.path) + (entry.kind === 'symlink' ? nameBytes(entry.target) : 2);
    bytes += entryBytes(entry) + (entry.kind === 'file' ? entry.size : 0);
    checked.push(entry);
  }
  if (bytes > maxBytes || names > MAX_NAME_BYTES) throw invalid('the size of its tree');
  return checked;
}

function checkEntry(entry: TreeEntry | null): TreeEntry {
  if (entry === null || typeof entry !== 'object' || !isPath(entry.path)) throw invalid('a path');
  const { path } = entry;
  if (entry.kind === 'symlink') {
    const { target } = entry;
    if (!isText(target, MAX_TARGET_BYTES)) throw invalid('a link');
    return { kind: 'symlink', path, target };
  }
  const { mode } = entry;
  if (!isCount(mode) || mode > 0o777) throw invalid('a mode');
  if (entry.kind === 'directory') return { kind: 'directory', path, mode };
  const { size, mtime, sha256, isWritten } = entry;
  if (entry.kind !== 'file' || !isCount(size) || !Number.isSafeInteger(mtime)) throw invalid('a file');
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) throw invalid('a content');
  return { kind: 'file', path, mode, size, mtime, sha256, at: null, ...(isWritten === true && { isWritten }) };
}

function isPath(path: unknown): path is string {
  if (!isText(path, MAX_PATH_BYTES)) return false;
  const [first, ...names] = path.split('/');
  return first === '' && names.every((name) => name !== '' && name !== '.' && name !== '..');
}

function isText(text: unknown, maxBytes: number): text is string {
  if (typeof text !== 'string' || text === '' || text.includes('\0')) return false;
  // A lone surrogate is not UTF-8.
  return text.isWellFormed() && Buffer.byteLength(text) <= maxBytes;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function invalid(what: string): SandboxFailedError {
  return new SandboxFailedError(`a pod reports what cannot be: ${what}`);
}

import { replaceText } from '../platform/replace-text.js';
import { codePointLength, isStorableText, truncateUtf8 } from '../platform/text.js';
import {
  MAX_FILE_BYTES,
  MAX_FILES,
  MAX_MEMORY_BYTES,
  MAX_PATH_LENGTH,
  MAX_SEGMENT_LENGTH,
  MAX_VIEW_BYTES,
} from './limits.js';
import { MEMORY_KINDS, type MemoryKind } from './owner.js';
import { comparePaths, isFolder, pathProblem, pathsBelow, placeProblem, prefixOf } from './paths.js';

/** Names of the commands of the tool `memory`. */
export const MEMORY_COMMANDS = ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] as const;
export type MemoryCommand = (typeof MEMORY_COMMANDS)[number];

/** The input of the tool, after the check of its schema: which fields a command needs is still open. */
export interface MemoryInput {
  command: MemoryCommand;
  path?: string;
  view_range?: [first: number, last: number];
  file_text?: string;
  old_str?: string;
  new_str?: string;
  insert_line?: number;
  insert_text?: string;
  old_path?: string;
  new_path?: string;
}

/** A memory that the tool shows as `/memories/<of>`. */
export interface MemoryFolder {
  of: MemoryKind;
  isWritable: boolean;
}

/** The files of a memory: the bytes of each by its path within the memory (`/a.md`). */
export type MemoryFiles = ReadonlyMap<string, number>;

/** What becomes of a file. A renamed one keeps its text. */
export type FileChange =
  | { kind: 'created' | 'modified'; path: string; text: string }
  | { kind: 'deleted'; path: string }
  | { kind: 'renamed'; path: string; to: string };

/** What a command came to: the text for the model, and what it changes in its memory. */
export interface CommandResult {
  text: string;
  isError: boolean;
  changes: FileChange[];
}

/** A command whose paths are read. `path` and `newPath` are those within the memory `of`; null: `/memories` itself. */
export interface PlannedCommand {
  input: MemoryInput;
  of: MemoryKind | null;
  path: string;
  newPath: string | null;
}

const ROOT = '/memories';
/** The longest path within a memory: that of the tool has the memory's folder before it. */
const MAX_SHOWN_LENGTH = MAX_PATH_LENGTH + `${ROOT}/`.length + Math.max(...MEMORY_KINDS.map(({ length }) => length));

const NEEDED: Record<MemoryCommand, (keyof MemoryInput)[]> = {
  view: ['path'],
  create: ['path', 'file_text'],
  str_replace: ['path', 'old_str'],
  insert: ['path', 'insert_line', 'insert_text'],
  delete: ['path'],
  rename: ['old_path', 'new_path'],
};

/**
 * Reads the paths of a command and checks what needs no memory.
 * @param folders the memories of the turn
 * @returns the error result for the model if the command cannot run on any memory
 */
export function planCommand(folders: readonly MemoryFolder[], input: MemoryInput): PlannedCommand | CommandResult {
  const missing = NEEDED[input.command].find((field) => input[field] === undefined);
  if (missing !== undefined) return failed(`Wrong input: ${input.command} needs ${missing}.`);
  const isRename = input.command === 'rename';
  const path = placeOf(folders, isRename ? input.old_path! : input.path!);
  if ('reason' in path) return failed(path.reason);
  if (input.command === 'view') return { input, ...path, newPath: null };
  if (path.of === null) return failed(`${quoted(ROOT)} itself cannot be changed: only what is in its folders.`);
  if (folders.some(({ of, isWritable }) => of === path.of && !isWritable))
    return failed(`${quoted(`${ROOT}/${path.of}`)} can only be read. ${NOTHING}`);
  if (path.path === '/') return failed(`${quoted(`${ROOT}/${path.of}`)} itself cannot be changed. ${NOTHING}`);
  if (!isRename) return { input, ...path, newPath: null };
  const to = placeOf(folders, input.new_path!);
  if ('reason' in to) return failed(to.reason);
  if (to.of !== path.of) return failed(`rename works within one folder of ${ROOT}. ${NOTHING}`);
  return { input, ...path, newPath: to.path };
}

/** Where a path of the tool leads: a memory and the path in it, or why it leads nowhere. */
function placeOf(
  folders: readonly MemoryFolder[],
  shown: string,
): { of: MemoryKind | null; path: string } | { reason: string } {
  const problem = pathProblem(shown, MAX_SHOWN_LENGTH);
  if (problem !== null) return { reason: `Wrong path: ${quoted(shown)} ${problem}. ${NOTHING}` };
  if (shown === ROOT) return { of: null, path: '/' };
  const folder = folders.find(({ of }) => shown === `${ROOT}/${of}` || shown.startsWith(`${ROOT}/${of}/`));
  if (folder === undefined) {
    const names = folders.map(({ of }) => `${ROOT}/${of}`).join(', ');
    return { reason: `${quoted(shown)} is not there: files are in ${names}. ${NOTHING}` };
  }
  return { of: folder.of, path: shown.slice(`${ROOT}/${folder.of}`.length) || '/' };
}

/** The memories whose files a view shows: all of them for `/memories`. */
export function foldersOf(folders: readonly MemoryFolder[], { of }: PlannedCommand): MemoryKind[] {
  return of === null ? folders.map((folder) => folder.of) : [of];
}

/** Shows `/memories`. @param filesOf the files of each memory of the turn */
export function viewRoot(filesOf: ReadonlyMap<MemoryKind, MemoryFiles>): CommandResult {
  const kinds = [...filesOf.keys()].sort(comparePaths);
  const lines = kinds.flatMap((of) => [`${ROOT}/${of}/`, ...linesBelow(of, filesOf.get(of)!, '/', 1)]);
  return done(withinBytes(lines));
}

/**
 * Runs a command on the files of its memory. It changes nothing itself.
 * @param text that of the file at the command's path; null if there is none
 */
export async function runCommand(
  { input, of, path, newPath }: PlannedCommand,
  files: MemoryFiles,
  text: string | null,
): Promise<CommandResult> {
  const shown = shownPath(of!, path);
  switch (input.command) {
    case 'view':
      return view(of!, path, files, text, input.view_range);
    case 'create':
      return create(of!, path, files, input.file_text!);
    case 'delete':
      return remove(shown, path, files);
    case 'rename':
      return rename(of!, path, newPath!, files);
    default: {
      if (text === null) return failed(`${quoted(shown)} ${missing(files, path)}. ${NOTHING}`);
      const edited = input.command === 'insert' ? insert(text, input) : await replace(text, input);
      if ('reason' in edited) return failed(`${quoted(shown)} ${edited.reason}. ${NOTHING}`);
      const reason = roomProblem(files, path, edited.text);
      if (reason !== null) return failed(`${quoted(shown)} ${reason}. ${NOTHING}`);
      const change = { kind: 'modified' as const, path, text: edited.text };
      return { ...done(`${edited.did} in ${quoted(shown)}.`), changes: [change] };
    }
  }
}

function view(
  of: MemoryKind,
  path: string,
  files: MemoryFiles,
  text: string | null,
  range: MemoryInput['view_range'],
): CommandResult {
  if (text !== null) return viewFile(shownPath(of, path), text, range);
  if (path !== '/' && !isFolder(files, path)) return failed(`${quoted(shownPath(of, path))} is not there.`);
  return done(withinBytes(linesBelow(of, files, path, 2)));
}

function viewFile(shown: string, text: string, range: MemoryInput['view_range']): CommandResult {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const first = Math.max(1, range?.[0] ?? 1);
  const last = range === undefined || range[1] < 1 ? lines.length : Math.min(range[1], lines.length);
  if (range !== undefined && first > last)
    return failed(`${quoted(shown)} has ${lines.length} lines; none of them is in this range.`);
  if (lines.length === 0) return done('(The file is empty.)');
  const numbered = lines.slice(first - 1, last).map((line, index) => `${`${first + index}`.padStart(6)}\t${line}`);
  if (numbered.length === lines.length && bytesOf(numbered) - 1 <= MAX_VIEW_BYTES) return done(numbered.join('\n'));
  const note = (end: number): string => `\n[lines ${first}-${end} of ${lines.length}]`;
  const room = MAX_VIEW_BYTES - note(lines.length).length;
  const count = Math.max(1, countWithin(numbered, room));
  // One line alone may be too long.
  return done(truncateUtf8(numbered.slice(0, count).join('\n'), room) + note(first + count - 1));
}

/** A line for each file and folder below a folder, in the order of their paths. */
function linesBelow(of: MemoryKind, files: MemoryFiles, folder: string, levels: number): string[] {
  const prefix = prefixOf(folder);
  const lines = new Map<string, string>();
  for (const path of pathsBelow(files, folder)) {
    const segments = path.slice(prefix.length).split('/');
    for (let level = 1; level <= Math.min(levels, segments.length); level += 1) {
      const entry = prefix + segments.slice(0, level).join('/');
      const shown = shownPath(of, entry);
      lines.set(entry, level === segments.length ? `${shown}\t${files.get(path)}` : `${shown}/`);
    }
  }
  return [...lines.keys()].sort(comparePaths).map((entry) => lines.get(entry)!);
}

/** As many whole lines as may be shown, and how many there are beside them. */
function withinBytes(lines: string[]): string {
  if (lines.length === 0) return '(The folder is empty.)';
  if (bytesOf(lines) - 1 <= MAX_VIEW_BYTES) return lines.join('\n');
  const note = (count: number): string => `[${lines.length - count} more]`;
  const count = countWithin(lines, MAX_VIEW_BYTES - note(0).length - 1);
  return [...lines.slice(0, count), note(count)].join('\n');
}

/** How many lines from the first one have at most so many bytes together, with line feeds between them. */
function countWithin(lines: readonly string[], maxBytes: number): number {
  let bytes = -1;
  for (const [index, line] of lines.entries()) {
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > maxBytes) return index;
  }
  return lines.length;
}

function bytesOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
}

function create(of: MemoryKind, path: string, files: MemoryFiles, text: string): CommandResult {
  const shown = shownPath(of, path);
  const reason = newPathProblem(of, path, files) ?? textProblem('file_text', text) ?? roomProblem(files, path, text);
  if (reason !== null) return failed(`${quoted(shown)} ${reason}. ${NOTHING}`);
  return { ...done(`Created ${quoted(shown)}.`), changes: [{ kind: 'created', path, text }] };
}

function remove(shown: string, path: string, files: MemoryFiles): CommandResult {
  const paths = files.has(path) ? [path] : pathsBelow(files, path);
  if (paths.length === 0) return failed(`${quoted(shown)} is not there. ${NOTHING}`);
  const what = files.has(path) ? '' : ` with ${paths.length === 1 ? '1 file' : `${paths.length} files`}`;
  return {
    ...done(`Deleted ${quoted(shown)}${what}.`),
    changes: paths.sort(comparePaths).map((each) => ({ kind: 'deleted', path: each })),
  };
}

function rename(of: MemoryKind, path: string, newPath: string, files: MemoryFiles): CommandResult {
  const [from, to] = [shownPath(of, path), shownPath(of, newPath)];
  const paths = files.has(path) ? [path] : pathsBelow(files, path);
  if (paths.length === 0) return failed(`${quoted(from)} is not there. ${NOTHING}`);
  if (newPath === '/') return failed(`${quoted(to)} is there already. ${NOTHING}`);
  if (newPath.startsWith(`${path}/`)) return failed(`${quoted(from)} cannot be moved into itself. ${NOTHING}`);
  const moved = paths
    .sort(comparePaths)
    .map((each) => ({ kind: 'renamed' as const, path: each, to: newPath + each.slice(path.length) }));
  const reason =
    newPathProblem(of, newPath, files) ??
    (moved.some((each) => pathProblem(shownPath(of, each.to)) !== null)
      ? `would give a file a path of more than ${MAX_PATH_LENGTH} characters`
      : null);
  if (reason !== null) return failed(`${quoted(to)} ${reason}. ${NOTHING}`);
  return { ...done(`Renamed ${quoted(from)} to ${quoted(to)}.`), changes: moved };
}

type Edited = { text: string; did: string } | { reason: string };

async function replace(text: string, { old_str: old = '', new_str: now = '' }: MemoryInput): Promise<Edited> {
  if (old === '') return { reason: 'was not changed: old_str must not be empty' };
  const reason = textProblem('new_str', now);
  if (reason !== null) return { reason };
  const replaced = await replaceText(Buffer.from(text), { old, now, all: false }, MAX_FILE_BYTES);
  if (!('problem' in replaced)) return { text: replaced.text.toString(), did: 'Replaced once' };
  const { problem } = replaced;
  if ('size' in problem) return { reason: tooLarge(problem.size) };
  return { reason: `has old_str ${problem.count} times, and it must be there exactly once` };
}

function insert(text: string, { insert_line: line = 0, insert_text: inserted = '' }: MemoryInput): Edited {
  const reason = textProblem('insert_text', inserted);
  if (reason !== null) return { reason };
  let [at, lines] = [0, 0];
  // A last line may have no line feed.
  for (; lines < line && at < text.length; lines += 1) at = text.indexOf('\n', at) + 1 || text.length;
  if (lines < line) return { reason: `has ${lines} lines, so there is no line ${line}` };
  const [before, after] = [text.slice(0, at), text.slice(at)];
  return {
    text: ended(before) + (inserted === '' ? '\n' : ended(inserted)) + after,
    did: `Inserted after line ${line}`,
  };
}

/** A text whose last line ends with a line feed. */
function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** Why a new file or folder cannot be at a path; null if it can. */
function newPathProblem(of: MemoryKind, path: string, files: MemoryFiles): string | null {
  if (codePointLength(shownPath(of, path)) > MAX_PATH_LENGTH) return `must have at most ${MAX_PATH_LENGTH} characters`;
  if (path === '/' || files.has(path) || isFolder(files, path)) return 'is there already';
  return placeProblem(files, path);
}

function textProblem(field: string, text: string): string | null {
  return isStorableText(text) ? null : `cannot have ${field}: it has NUL or half of a character`;
}

/**
 * Which limit a memory would pass if a file had this text; null if none.
 * @returns the end of a sentence that begins with the file's path
 */
export function roomProblem(files: MemoryFiles, path: string, text: string): string | null {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_FILE_BYTES) return tooLarge(bytes);
  if (!files.has(path) && files.size >= MAX_FILES)
    return `would be file number ${files.size + 1}: a memory has at most ${MAX_FILES} files`;
  const others = [...files].reduce((sum, [each, size]) => (each === path ? sum : sum + size), 0);
  if (others + bytes > MAX_MEMORY_BYTES)
    return `does not fit: the files of a memory have at most ${MAX_MEMORY_BYTES} bytes together`;
  return null;
}

function tooLarge(bytes: number): string {
  return `would have ${bytes} bytes: a file of a memory has at most ${MAX_FILE_BYTES}`;
}

const NOTHING = 'Nothing was changed.';

function missing(files: MemoryFiles, path: string): string {
  return isFolder(files, path) ? 'is a folder' : 'is not there';
}

function shownPath(of: MemoryKind, path: string): string {
  return path === '/' ? `${ROOT}/${of}` : `${ROOT}/${of}${path}`;
}

/** A path that the model wrote may be long, and have characters that break the sentence. */
function quoted(path: string): string {
  return JSON.stringify(truncateUtf8(path, 2 * MAX_PATH_LENGTH + MAX_SEGMENT_LENGTH));
}

function failed(text: string): CommandResult {
  return { text, isError: true, changes: [] };
}

function done(text: string): CommandResult {
  return { text, isError: false, changes: [] };
}

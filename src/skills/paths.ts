import { crc32 } from 'node:zlib';
import { getFileNameLowLevel, type Entry } from 'yauzl';
import { decodeUtf8 } from '../platform/text.js';
import { invalidBundle, quoted } from './refusals.js';

const PATH_BYTES = 1024;
const SEGMENT_BYTES = 255;
const UNICODE_PATH = 0x7075;

/**
 * Decodes the name of an entry. UTF-8 is tried before code page 437 even without the UTF-8 flag, because Finder and
 * others write UTF-8 without setting it.
 */
export function entryName(entry: Entry): string {
  const raw = entry.fileNameRaw;
  if (raw.length > PATH_BYTES) {
    throw invalidBundle(`The path ${quoted(raw.toString('latin1'))} is longer than ${PATH_BYTES} bytes.`);
  }
  if (raw.includes(0)) throw invalidBundle(`The path ${quoted(raw.toString('latin1'))} contains NUL.`);
  if (raw.some((byte) => byte < 0x20 || byte === 0x7f)) throw withControls(raw.toString('latin1'));
  const name = unicodePath(entry) ?? decodeUtf8(raw, { keepMark: true });
  if (name !== null) return name;
  if ((entry.generalPurposeBitFlag & 0x800) !== 0) {
    throw invalidBundle(`The path ${quoted(raw.toString('latin1'))} is marked as UTF-8 and is not.`);
  }
  return getFileNameLowLevel(0, raw, [], true);
}

function unicodePath(entry: Entry): string | null {
  const field = entry.extraFields.find(({ id, data }) => id === UNICODE_PATH && data.length > 5 && data[0] === 1);
  if (field === undefined || field.data.readUInt32LE(1) !== crc32(entry.fileNameRaw)) return null;
  return decodeUtf8(field.data.subarray(5), { keepMark: true });
}

function withControls(name: string): Error {
  return invalidBundle(`The path ${quoted(name)} contains a control character.`);
}

/**
 * Splits a path into segments and checks that it is safe: relative, inside the package, with names that mean the same
 * on every system (decisions.md "Resources", "Skill archive"). `.` segments are dropped and names become NFC, so that a file has
 * one path.
 * @throws ServiceError `invalid_skill_bundle` that names the path and the rule
 */
export function safeSegments(path: string): string[] {
  const refuse = (rule: string): Error => invalidBundle(`The path ${quoted(path)} is unsafe: ${rule}.`);
  if (path.includes('\0')) throw invalidBundle(`The path ${quoted(path)} contains NUL.`);
  if (/\p{Cc}/u.test(path)) throw withControls(path);
  if (path.includes('\\')) throw refuse('it contains a backslash; folders are separated by "/"');
  if (path.startsWith('/')) throw refuse('it is absolute');
  if (/^[A-Za-z]:/.test(path)) throw refuse('it starts with a drive letter');
  if (Buffer.byteLength(path) > PATH_BYTES) throw refuse(`it is longer than ${PATH_BYTES} bytes`);
  const segments = path
    .replace(/\/$/, '')
    .split('/')
    .filter((segment) => segment !== '.')
    .map((segment) => segment.normalize('NFC'));
  if (segments.includes('..')) throw refuse('it contains ".."');
  if (segments.includes('')) throw refuse('it contains an empty folder name');
  if (segments.some((segment) => Buffer.byteLength(segment) > SEGMENT_BYTES)) {
    throw refuse(`a name in it is longer than ${SEGMENT_BYTES} bytes`);
  }
  return segments;
}

export function isSystemMetadata(segments: string[]): boolean {
  return segments[0] === '__MACOSX' || segments.at(-1) === '.DS_Store';
}

interface Node {
  path: string;
  isFile: boolean;
  /** The folder has an entry of its own. Other folders exist only because a path contains them. */
  isListed: boolean;
  children: Map<string, Node>;
}

/** The names so far, compared as on a file system that ignores case. */
export class PathTree {
  readonly #root: Node = { path: '', isFile: false, isListed: true, children: new Map() };
  #nodes = 0;

  /**
   * Adds a path.
   * @throws ServiceError `invalid_skill_bundle` if the path exists already, differs only by case, or would be both a
   * file and a folder
   */
  add(segments: string[], isFile: boolean): void {
    const whole = segments.join('/');
    let node = this.#root;
    let end = -1;
    for (const [depth, segment] of segments.entries()) {
      const isLast = depth === segments.length - 1;
      end += 1 + segment.length;
      node = this.#enter(node, segment, whole.slice(0, end), isLast && isFile);
    }
    node.isListed = true;
  }

  #enter(parent: Node, segment: string, path: string, isFile: boolean): Node {
    const key = segment.toLowerCase();
    const existing = parent.children.get(key);
    if (existing !== undefined) {
      refuseCollision(existing, path, isFile);
      return existing;
    }
    const node: Node = { path, isFile, isListed: false, children: new Map() };
    parent.children.set(key, node);
    this.#nodes += 1;
    return node;
  }

  /** Number of files and folders after unpacking. A single top-level folder without its own entry does not count. */
  get size(): number {
    const [top, ...others] = this.#root.children.values();
    const isImplied = top !== undefined && others.length === 0 && !top.isListed;
    return this.#nodes - (isImplied ? 1 : 0);
  }
}

function refuseCollision(existing: Node, path: string, isFile: boolean): void {
  if (existing.path !== path) {
    throw invalidBundle(`The paths ${quoted(existing.path)} and ${quoted(path)} differ only by case.`);
  }
  if (existing.isFile !== isFile) throw invalidBundle(`The path ${quoted(path)} is a file and a folder at once.`);
  if (isFile) throw invalidBundle(`The path ${quoted(path)} is in the archive twice.`);
}

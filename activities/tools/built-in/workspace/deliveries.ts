import { checkedFilename } from '../../../../src/files/filename.js';
import { newStorageKey } from '../../../../src/files/storage.js';
import { MAX_FILE_BYTES, type NewFile } from '../../../../src/files/store.js';
import { mapInPieces, Pauses } from '../../../../src/platform/pauses.js';
import { ServiceError } from '../../../../src/platform/errors.js';
import { isBelow, OUTPUTS } from '../../../../src/workspaces/layout.js';
import { isFile, type Delivered, type FileEntry, type TreeEntry } from '../../../../src/workspaces/manifest.js';
import type { ToolCall } from '../../tool.js';
import { newOutput } from '../delivery.js';

/** Files of the outputs that one call delivers. */
const MAX_DELIVERIES = 20;
/** The contents that a turn delivered longest ago are forgotten: from there the same content is delivered again. */
const MAX_CONTENTS = 5000;
/** Lines of a result about files that are not delivered again. */
const MAX_REPEATS = 20;

export interface Delivery {
  path: string;
  file: NewFile;
}

interface DueDeliveries {
  deliveries: Delivery[];
  /** The lines of the result about files that are not delivered, or not now. */
  notes: string[];
  /** The entries, of which those keep their mark that wait for a later call. */
  entries: TreeEntry[];
  delivered: Delivered | null;
}

/**
 * The files of the outputs that were made or written since they were delivered last: in order, at most 20. A content that this turn has
 * delivered last from its path, or could not deliver, is left out.
 */
export async function dueDeliveries(
  call: ToolCall,
  entries: readonly TreeEntry[],
  before: Delivered | null,
): Promise<DueDeliveries> {
  const pauses = new Pauses();
  const known = contentsOfTurn(call, before);
  const deliveries: Delivery[] = [];
  const refused: string[] = [];
  const repeated: string[] = [];
  const contents: Record<string, string> = {};
  const waiting = new Set<string>();
  for (const entry of entries) {
    if (pauses.isDue) await pauses.take();
    if (!isDue(entry)) continue;
    const { path, size, sha256 } = entry;
    if (known[path] === sha256) repeated.push(path);
    else if (deliveries.length + refused.length === MAX_DELIVERIES) waiting.add(path);
    else {
      const file = newDelivery(call, path, size);
      if ('reason' in file) refused.push(notDelivered(path, file.reason));
      else deliveries.push({ path, file });
      contents[path] = sha256;
    }
  }
  return {
    deliveries,
    notes: [...refused, ...repeatedNotes(repeated), ...waitingNote(waiting.size)],
    entries: await markOnly(entries, ({ path }) => waiting.has(path)),
    delivered: addDelivered(call, before, contents),
  };
}

function isDue(entry: TreeEntry): entry is FileEntry {
  return isFile(entry) && entry.isWritten === true && isBelow(OUTPUTS, entry.path);
}

/** The entries after a call that delivers nothing: what it and calls before it have written waits. */
export function allWaiting(entries: readonly TreeEntry[]): Promise<TreeEntry[]> {
  return markOnly(entries, isDue);
}

function markOnly(entries: readonly TreeEntry[], keeps: (file: FileEntry) => boolean): Promise<TreeEntry[]> {
  return mapInPieces(entries, (entry) => {
    if (!isFile(entry) || entry.isWritten === undefined || keeps(entry)) return entry;
    const { isWritten: _, ...rest } = entry;
    return rest;
  });
}

function contentsOfTurn({ turn }: ToolCall, delivered: Delivered | null): Readonly<Record<string, string>> {
  return delivered?.turnId === turn.id ? delivered.contents : {};
}

/** What the turn has delivered, with `contents` as the newest. */
export function addDelivered(
  call: ToolCall,
  before: Delivered | null,
  contents: Readonly<Record<string, string>>,
): Delivered | null {
  if (Object.keys(contents).length === 0) return before;
  const older = Object.entries(contentsOfTurn(call, before)).filter(([path]) => !Object.hasOwn(contents, path));
  const all = [...older, ...Object.entries(contents)].slice(-MAX_CONTENTS);
  return { turnId: call.turn.id, contents: Object.fromEntries(all) };
}

function repeatedNotes(paths: string[]): string[] {
  const more = paths.length - MAX_REPEATS;
  return [
    ...paths.slice(0, MAX_REPEATS).map((path) => notDelivered(path, 'this turn has delivered this content from there')),
    ...(more > 0 ? [`[not delivered: ${more} more files, for the same reason]`] : []),
  ];
}

function waitingNote(count: number): string[] {
  return count === 0
    ? []
    : [`[not delivered yet: ${count} more files. The next commands deliver ${MAX_DELIVERIES} each]`];
}

/** A new file with the content of a file of the workspace, or the reason why it cannot be delivered. */
export function newDelivery({ turn }: ToolCall, name: string, size: number): NewFile | { reason: string } {
  if (size > MAX_FILE_BYTES) return { reason: 'it is larger than 100 MiB' };
  try {
    return newOutput(turn, checkedFilename(name), size, newStorageKey('files', turn.projectId));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { reason: error.message };
  }
}

/** The line of a result for a file that was not delivered. */
export function notDelivered(path: string, reason: string): string {
  return `[not delivered: ${path.replace(/\p{Cc}/gu, '?')}: ${reason}]`;
}

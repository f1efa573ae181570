import { workspaceCommitBytes } from '../../../../src/platform/metrics.js';
import { mapInPieces } from '../../../../src/platform/pauses.js';
import {
  diffEntries,
  isFile,
  type Changes,
  type FileEntry,
  type Manifest,
  type TreeEntry,
} from '../../../../src/workspaces/manifest.js';
import { storeContents } from '../../../../src/workspaces/packs.js';
import type { ScannedTree } from '../../../../src/workspaces/sandbox.js';
import { storeManifest, type WorkspaceChange } from '../../../../src/workspaces/store.js';
import type { ToolCall, ToolDeps } from '../../tool.js';
import { addDelivered, allWaiting, dueDeliveries, type Delivery } from './deliveries.js';

/** What a call leaves, whose objects are stored; its rows are not yet. */
export interface StoredTree {
  /** Null if the workspace stays as it was. */
  next: WorkspaceChange['next'];
  changes: Changes;
  deliveries: Delivery[];
  /** For the result. */
  notes: string[];
}

export const UNCHANGED: StoredTree = {
  next: null,
  changes: { created: [], modified: [], deleted: [] },
  deliveries: [],
  notes: [],
};

/** Stores the objects of a tree after a call, and of the files that it delivers. @throws ServiceError `storage_error` */
export async function storeTree(
  call: ToolCall,
  { storage, manifests }: ToolDeps,
  base: Manifest,
  { entries: scanned, notKept, contentOf }: ScannedTree,
  { delivers }: { delivers: boolean },
): Promise<StoredTree> {
  const changes = await diffEntries(base.entries, scanned);
  const changesTree = changes.created.length + changes.modified.length + changes.deleted.length > 0;
  const written = await markWritten(scanned, base.entries);
  const due = delivers
    ? await dueDeliveries(call, written, base.delivered)
    : { deliveries: [], notes: [], entries: await allWaiting(written), delivered: base.delivered };
  const { entries, deliveries, delivered } = due;
  const notes = [...(notKept === 0 ? [] : [`[not kept: ${notKept} entries]`]), ...due.notes];
  const stays = !changesTree && delivered === base.delivered && sameWaiting(base.entries, entries);
  if (stays) return { ...UNCHANGED, notes };
  for (const { path, file } of deliveries) {
    const { storage_key: key, mime_type: contentType, size_bytes: size } = file;
    await storage.put(key, contentOf(path), { contentType, size });
  }
  const { sessionId } = call.turn;
  const tree = { manifest: { entries, packs: [], delivered }, base };
  const { manifest, written: bytes } = await storeContents(storage, sessionId, tree, contentOf);
  workspaceCommitBytes.inc(bytes);
  const stored = await storeManifest(storage, sessionId, manifest);
  manifests.keep(stored.manifestKey, manifest);
  return { next: { ...stored, manifest, changesTree }, changes, deliveries, notes };
}

/** The entries of a scan, of which those are marked that the call has written, and those of earlier calls that wait. */
async function markWritten(scanned: readonly TreeEntry[], before: readonly TreeEntry[]): Promise<TreeEntry[]> {
  const old = new Map(await mapInPieces(before.filter(isFile), (file) => [file.path, file] as const));
  return mapInPieces(scanned, (entry) => {
    if (!isFile(entry)) return entry;
    const { isWritten, ...file } = entry;
    const base = old.get(entry.path);
    return base?.isWritten || (isWritten && !isOnlyMode(base, file)) ? { ...file, isWritten: true } : file;
  });
}

/** A change of its mode alone writes no file. */
function isOnlyMode(before: FileEntry | undefined, { sha256, mtime, mode }: FileEntry): boolean {
  return before?.sha256 === sha256 && before.mtime === mtime && before.mode !== mode;
}

function waitingOf(entries: readonly TreeEntry[]): Set<string> {
  return new Set(entries.filter((entry) => isFile(entry) && entry.isWritten).map(({ path }) => path));
}

function sameWaiting(before: readonly TreeEntry[], after: readonly TreeEntry[]): boolean {
  const [old, now] = [waitingOf(before), waitingOf(after)];
  return old.size === now.size && [...now].every((path) => old.has(path));
}

/** Stores that a file was delivered, so that the next command of the turn does not deliver its content again. */
export async function storeDelivered(
  call: ToolCall,
  { storage, manifests }: ToolDeps,
  base: Manifest,
  { path, sha256 }: FileEntry,
): Promise<NonNullable<WorkspaceChange['next']>> {
  const manifest = { ...base, delivered: addDelivered(call, base.delivered, { [path]: sha256 }) };
  const stored = await storeManifest(storage, call.turn.sessionId, manifest);
  manifests.keep(stored.manifestKey, manifest);
  return { ...stored, manifest, changesTree: false };
}

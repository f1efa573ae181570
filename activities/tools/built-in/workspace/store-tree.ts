import { workspaceCommitBytes } from '../../../../src/platform/metrics.js';
import { diffEntries, type Manifest } from '../../../../src/workspaces/manifest.js';
import { storeContents } from '../../../../src/workspaces/packs.js';
import type { ScannedTree } from '../../../../src/workspaces/sandbox.js';
import { storeManifest, type WorkspaceChange } from '../../../../src/workspaces/store.js';
import type { ToolCall, ToolDeps } from '../../tool.js';
import { addMarks, dueDeliveries, notDelivered, type Delivery } from './deliveries.js';

/** What a call leaves, whose objects are stored; its rows are not yet. */
export interface StoredTree {
  /** Null if the workspace stays as it was. */
  next: WorkspaceChange['next'];
  changes: ReturnType<typeof diffEntries>;
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
  { entries, notKept, contentOf }: ScannedTree,
  { delivers }: { delivers: boolean },
): Promise<StoredTree> {
  const changes = diffEntries(base.entries, entries);
  const changesTree = changes.created.length + changes.modified.length + changes.deleted.length > 0;
  const due = delivers
    ? dueDeliveries(call, entries, base.delivered)
    : { deliveries: [], refused: [], marks: base.delivered };
  const notes = [
    ...(notKept === 0 ? [] : [`[not kept: ${notKept} entries]`]),
    ...due.refused.map(({ path, reason }) => notDelivered(path, reason)),
  ];
  if (!changesTree && due.marks === base.delivered) return { ...UNCHANGED, notes };
  for (const { path, file } of due.deliveries) {
    const { storage_key: key, mime_type: contentType, size_bytes: size } = file;
    await storage.put(key, contentOf(path), { contentType, size });
  }
  const { sessionId } = call.turn;
  const tree = { manifest: { entries, packs: [], delivered: due.marks }, base };
  const { manifest, written } = await storeContents(storage, sessionId, tree, contentOf);
  workspaceCommitBytes.inc(written);
  const manifestKey = await storeManifest(storage, sessionId, manifest);
  manifests.keep(manifestKey, manifest);
  return { next: { manifestKey, manifest, changesTree }, changes, deliveries: due.deliveries, notes };
}

/** Stores that a content was delivered from its path, so that the next command does not deliver it again. */
export async function storeMark(
  { turn: { sessionId } }: ToolCall,
  { storage, manifests }: ToolDeps,
  base: Manifest,
  mark: string,
): Promise<NonNullable<WorkspaceChange['next']>> {
  const manifest = { ...base, delivered: addMarks(base.delivered, mark) };
  const manifestKey = await storeManifest(storage, sessionId, manifest);
  manifests.keep(manifestKey, manifest);
  return { manifestKey, manifest, changesTree: false };
}

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Database, Db } from '../../src/db/db.js';
import type { Config } from '../../src/platform/config.js';
import { transaction } from '../../src/db/transaction.js';
import { openStorage } from '../../src/files/open-storage.js';
import { isBelow, KEPT_FOLDERS } from '../../src/workspaces/layout.js';
import { comparePaths, type TreeEntry } from '../../src/workspaces/manifest.js';
import { storeContents } from '../../src/workspaces/packs.js';
import { commitVersion, readManifest, storeManifest, type Workspace } from '../../src/workspaces/store.js';
import type { TestService } from './service.js';

/** What a tree of a test has at a path: the content of a file, a file with its mode, a folder or a link. */
type TestEntry = string | Buffer | { content: string | Buffer; mode: number } | { folder: number } | { link: string };

export type TestTree = Record<string, TestEntry>;

/** 2026-11-21 09:48:04 UTC. */
export const TREE_TIME = Date.UTC(2026, 10, 21, 9, 48, 4);

export function contentOf(entry: TestEntry): Buffer | null {
  if (typeof entry === 'string' || Buffer.isBuffer(entry)) return Buffer.from(entry);
  return 'content' in entry ? Buffer.from(entry.content) : null;
}

/** The entries of a tree, with the folders that its paths need. */
export function entriesOf(tree: TestTree): TreeEntry[] {
  const folders = Object.keys(tree).flatMap(foldersAbove);
  const whole = { ...Object.fromEntries(folders.map((path) => [path, { folder: 0o755 }])), ...tree };
  return Object.entries(whole)
    .map(([path, entry]): TreeEntry => {
      const content = contentOf(entry);
      if (content !== null) {
        const mode = typeof entry === 'object' && 'mode' in entry ? entry.mode : 0o644;
        const sha256 = createHash('sha256').update(content).digest('hex');
        return { kind: 'file', path, mode, size: content.length, mtime: TREE_TIME, sha256, at: null };
      }
      if (typeof entry === 'object' && 'link' in entry) return { kind: 'symlink', path, target: entry.link };
      return { kind: 'directory', path, mode: (entry as { folder: number }).folder };
    })
    .sort((a, b) => comparePaths(a.path, b.path));
}

function foldersAbove(path: string): string[] {
  const kept = KEPT_FOLDERS.find((folder) => isBelow(folder.path, path))!.path;
  const names = path.slice(kept.length + 1).split('/');
  return names.slice(1).map((_, index) => `${kept}/${names.slice(0, index + 1).join('/')}`);
}

/** The newest version of a session's workspace. */
export async function newestWorkspace(db: Db, sessionId: string): Promise<Workspace> {
  const [row] = await db.query<[Workspace]>(
    'SELECT version, objects[1] AS "manifestKey", cwd FROM workspaces WHERE session_id = $1',
    [sessionId],
  );
  return row;
}

/** Gives a session an empty workspace, unless it has one. */
export async function giveWorkspace(db: Db, sessionId: string): Promise<void> {
  await db.query(
    `INSERT INTO workspaces (session_id, project_id, version, objects, cwd, size_bytes, file_count)
     SELECT id, project_id, 0, '{}', '/workspace', 0, 0 FROM sessions WHERE id = $1
       AND NOT EXISTS (SELECT FROM workspaces WHERE session_id = $1)`,
    [sessionId],
  );
}

/** Gives a session a workspace whose next version is this tree, as a command would, without a sandbox. */
export async function writeTree(
  { db, config }: { db: Database; config: Pick<Config, 'storageUrl' | 'publicUrl' | 'encryptionKeys'> },
  sessionId: string,
  tree: TestTree,
  turnNumber = 0,
): Promise<void> {
  const storage = await openStorage(config);
  await giveWorkspace(db, sessionId);
  const base = await newestWorkspace(db, sessionId);
  const before = await readManifest(storage, base.manifestKey);
  const { manifest } = await storeContents(
    storage,
    sessionId,
    { manifest: { entries: entriesOf(tree), packs: [], delivered: null }, base: before },
    (path) => Readable.from([contentOf(tree[path]!)!], { objectMode: false }),
  );
  const next = { ...(await storeManifest(storage, sessionId, manifest)), manifest, changesTree: true };
  const isStored = await transaction(db, (tx) =>
    commitVersion(tx, { sessionId, turnNumber, base, cwd: base.cwd, next }),
  );
  if (!isStored) throw new Error(`the tree of ${next.size.fileCount} files was overtaken`);
}

/** As `writeTree`, in a new session, whose id it returns. */
export async function sessionWithTree(service: TestService, tree: TestTree, api = service.api): Promise<string> {
  const { body } = await api('POST', '/v1/sessions', { model_id: 'test-model' });
  await writeTree(service, body.id as string, tree);
  return body.id as string;
}

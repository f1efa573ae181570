import type { NewFile } from '../../../../src/files/store.js';
import { OvertakenError } from '../../../../src/turns/errors.js';
import { isBelow, OUTPUTS } from '../../../../src/workspaces/layout.js';
import { isFile, type Manifest } from '../../../../src/workspaces/manifest.js';
import type { ScannedTree } from '../../../../src/workspaces/sandbox.js';
import { commitVersion, type WorkspaceChange } from '../../../../src/workspaces/store.js';
import { deliveredResult } from '../delivery.js';
import { textResult, type ToolCall, type ToolDeps, type ToolResult } from '../../tool.js';
import { retryStorage } from './call.js';
import { newDelivery } from './deliveries.js';
import { resolvePath } from './file-commands.js';
import { isUsablePath, wrongPath } from './path-input.js';
import { inSandbox } from './sandbox.js';
import { storeDelivered } from './store-tree.js';

/** Delivers a regular file of the workspace. The sandbox resolves its path, so that a link leads nowhere else. */
export function deliverPath(call: ToolCall, deps: ToolDeps, path: string, filename?: string): Promise<ToolResult> {
  if (!isUsablePath(path)) return Promise.resolve(wrongPath('path'));
  return inSandbox(call, deps, async (sandbox) => {
    const fail = (reason: string): ToolResult =>
      textResult(`${JSON.stringify(path)} ${reason}. Nothing was delivered.`, true);
    const found = await resolvePath(sandbox, path);
    if ('reason' in found) return fail(found.reason);
    const name = filename ?? path;
    const stored = await sandbox.close((scanned) =>
      retryStorage(call, () => storeFile(call, deps, { path: found.path, name }, sandbox.manifest, scanned)),
    );
    if ('reason' in stored) return fail(`cannot be delivered: ${stored.reason}`);
    const { file, next } = stored;
    const { base } = sandbox;
    const { id, sessionId, number } = call.turn;
    return deliveredResult(file, deps.config, async (tx) => {
      if (next !== null && !(await commitVersion(tx, { sessionId, turnNumber: number, base, cwd: base.cwd, next })))
        throw new OvertakenError(id);
    });
  });
}

interface StoredFile {
  file: NewFile;
  /** Null if the file is not below the folder of outputs. */
  next: WorkspaceChange['next'];
}

async function storeFile(
  call: ToolCall,
  deps: ToolDeps,
  { path, name }: { path: string; name: string },
  manifest: Manifest,
  { entries, contentOf }: ScannedTree,
): Promise<StoredFile | { reason: string }> {
  const entry = entries.filter(isFile).find((one) => one.path === path);
  if (entry === undefined) return { reason: 'it is no file of the workspace' };
  const file = newDelivery(call, name, entry.size);
  if ('reason' in file) return file;
  const { storage_key: key, mime_type: contentType, size_bytes: size } = file;
  await deps.storage.put(key, contentOf(path), { contentType, size });
  if (!isBelow(OUTPUTS, path)) return { file, next: null };
  return { file, next: await storeDelivered(call, deps, manifest, entry) };
}

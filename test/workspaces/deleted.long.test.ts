import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { MountStore } from '../../activities/sandbox/bubblewrap/mounts.js';
import { removeTree } from '../../activities/sandbox/remove-tree.js';
import { TreeCache } from '../../activities/sandbox/tree-cache.js';
import type { Tree } from '../../activities/sandbox/tree.js';
import { expireSessions } from '../../src/sessions/purge.js';
import { eventually } from '../support/eventually.js';
import { testLogger } from '../support/log.js';
import { removeWritable } from '../support/sandbox.js';
import { useWorkspaceService } from '../support/workspace-service.js';

describe('the workspace of a deleted session', () => {
  const sandboxDir = mkdtempSync(join(tmpdir(), 'sandbox-test-'));
  after(() => removeWritable(sandboxDir));
  const { service, session, bash } = useWorkspaceService({ config: { sandboxDir } });

  /** Whether a worker has a file of this name on its disk. */
  const isOnDisk = (name: string): boolean =>
    readdirSync(sandboxDir, { recursive: true, encoding: 'utf8' }).some((path) => path.endsWith(`/${name}`));

  it('the workspace of a deleted session leaves the disk of its worker at once, and that of another session stays', async () => {
    const [gone, stays] = [await session(), await session()];
    await bash(gone, 'echo secret > of-the-deleted');
    await bash(stays, 'echo mine > of-the-other');
    expect([isOnDisk('of-the-deleted'), isOnDisk('of-the-other')]).to.deep.equal([true, true]);
    expect((await service.api('DELETE', `/v1/sessions/${gone}`)).status).to.equal(204);
    await eventually('the tree is removed', () => !isOnDisk('of-the-deleted'));
    expect(isOnDisk('of-the-other')).to.equal(true);
  });

  it('the workspace of a session that expires leaves the disk of its worker too', async () => {
    const id = await session();
    await bash(id, 'echo secret > of-the-expired');
    await service.db.query(`UPDATE sessions SET metadata_updated_at = now() - interval '2 days' WHERE id = $1`, [id]);
    await service.db.query(`UPDATE turns SET transition_at = now() - interval '2 days' WHERE session_id = $1`, [id]);
    expect(await expireSessions(service.db, 1, 10)).to.equal(1);
    await eventually('the tree is removed', () => !isOnDisk('of-the-expired'));
  });
});

describe('what a worker keeps for commands', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kept-test-'));
  after(() => removeWritable(folder));

  it('what a worker keeps for commands goes when none has used it for a day: trees and mounts', async () => {
    const gone: string[] = [];
    const trees = new TreeCache(
      folder,
      testLogger(),
      (tree) => removeTree(tree.folder),
      (tree) => gone.push(tree.folder),
    );
    const tree = { folder: join(folder, 'tree') } as Tree;
    mkdirSync(tree.folder);
    writeFileSync(join(tree.folder, 'a'), 'content');
    await trees.put('ses_1', { tree, digest: 'a', bytes: 1 });
    await trees.removeOld();
    expect(existsSync(tree.folder)).to.equal(true);
    await trees.removeOld(0);
    expect([existsSync(tree.folder), gone, trees.bytes]).to.deep.equal([false, [tree.folder], 0]);

    const mounts = new MountStore(folder, testLogger());
    const { signal } = new AbortController();
    const contents = async function* () {
      yield { path: '', content: Buffer.from('content') };
    };
    const held = await mounts.hold(
      'ses_1',
      [{ id: 'file_1', kind: 'file', target: '/mnt/a/b', bytes: 7, contents }],
      signal,
    );
    await mounts.removeOld(0);
    expect(mounts.bytes).to.equal(7);
    held.release();
    await mounts.removeOld();
    expect(mounts.bytes).to.equal(7);
    await mounts.removeOld(0);
    expect(mounts.bytes).to.equal(0);
    await eventually('nothing is left', () => readdirSync(folder).length === 0);
  });
});

import { expect } from 'chai';
import { transaction } from '../../../src/db/transaction.js';
import { commitVersion } from '../../../src/workspaces/store.js';
import { useService } from '../../support/use.js';

/** docs/decisions.md "Forks". */
describe('the workspace of a fork', () => {
  const service = useService();
  const stored = async (): Promise<number> => {
    const [row] = await service.db.query<{ bytes: number }[]>('SELECT bytes::integer AS bytes FROM project_storage');
    return row?.bytes ?? 0;
  };
  const commit = (sessionId: string, cwd: string, version: number, manifestKey: string, changes: boolean) =>
    transaction(service.db, (tx) =>
      commitVersion(tx, {
        sessionId,
        turnNumber: 0,
        base: { version, manifestKey: 'old', cwd: '/workspace' },
        cwd,
        next: changes
          ? {
              manifestKey,
              manifestBytes: 7,
              size: { sizeBytes: 1500, fileCount: 2, entryBytes: 0 },
              manifest: { packs: [] } as never,
              changesTree: true,
            }
          : null,
      }),
    );

  it('the workspace of a fork counts in the storage of the project from its first change on', async () => {
    const { id } = (await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).body;
    await service.db.query(
      `INSERT INTO workspaces (session_id, project_id, version, objects, object_bytes, cwd, size_bytes, file_count)
       SELECT id, project_id, 1, '{old}', '{5}', '/workspace', 1000, 1 FROM sessions WHERE id = $1`,
      [id],
    );
    expect(await stored()).to.equal(1005);
    const fork = async (of: string): Promise<string> =>
      (await service.api('POST', `/v1/sessions/${of}/fork`)).body.id as string;
    const [one, two] = [await fork(id), await fork(id)];
    const third = await fork(one);
    expect(await stored()).to.equal(1005);
    // Another working directory is no change of the tree.
    expect(await commit(one, '/tmp', 1, 'old', false)).to.equal(true);
    expect(await stored()).to.equal(1005);
    expect(await commit(one, '/workspace', 1, 'new', true)).to.equal(true);
    expect(await stored()).to.equal(1005 + 1507);
    await service.api('DELETE', `/v1/sessions/${two}`);
    expect(await stored()).to.equal(1005 + 1507);
    await service.api('DELETE', `/v1/sessions/${one}`);
    expect(await stored()).to.equal(1005);
    await service.api('DELETE', `/v1/sessions/${id}`);
    expect(await stored()).to.equal(0);
    expect((await service.api('GET', `/v1/sessions/${third}`)).body.workspace.size_bytes).to.equal(1000);
  });
});

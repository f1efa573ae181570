import { readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { cleanStorage } from '../../../src/files/maintenance.js';
import { openStorage } from '../../../src/files/open-storage.js';
import { purgeSessions } from '../../../src/sessions/purge.js';
import { readZip } from '../../support/read-zip.js';
import { insertEndedTurns } from '../../support/factories.js';
import { holdStatement } from '../../support/held-statement.js';
import { storedKeys } from '../../support/storage.js';
import { useService } from '../../support/use.js';
import { sessionWithTree, writeTree } from '../../support/workspaces.js';

/** decisions.md "Forks", "Workspace". */
describe('the workspace of a fork', () => {
  const service = useService();

  const forkOf = async (session: string): Promise<string> => {
    const { status, body } = await service.api('POST', `/v1/sessions/${session}/fork`);
    expect(status, JSON.stringify(body)).to.equal(201);
    return body.id as string;
  };
  /** The contents of `/workspace` by name. */
  const read = async (session: string): Promise<Record<string, string>> => {
    const answer = await fetch(`${service.url}/v1/sessions/${session}/workspace/archive`, {
      headers: { Authorization: `Bearer ${service.key}` },
    });
    expect(answer.status).to.equal(200);
    const entries = Object.entries(await readZip(Buffer.from(await answer.arrayBuffer())));
    return Object.fromEntries(entries.map(([name, { content }]) => [name, String(content)]));
  };
  const storageOfProject = async (): Promise<number> => {
    const [row] = await service.db.query<{ bytes: number }[]>('SELECT bytes FROM project_storage');
    return Number(row?.bytes ?? 0);
  };
  /** Deletes a session for good, and all objects that nobody has any more, whatever their age. */
  const erase = async (session: string): Promise<void> => {
    expect((await service.api('DELETE', `/v1/sessions/${session}`)).status).to.equal(204);
    await service.db.query(`UPDATE sessions SET deleted_at = deleted_at - interval '2 hours' WHERE id = $1`, [session]);
    await purgeSessions(service.db, 1000);
    await cleanStorage(service.db, await openStorage(service.config), { olderThanSeconds: -1, limit: 10_000 });
  };

  /** A session of ended turns; those named here have changed its workspace, whose one file has the number of the turn. */
  const sessionWithTurns = async (count: number, changing: number[]): Promise<string> => {
    const id = await sessionWithTree(service, {});
    await service.db.query('UPDATE workspaces SET version = 0, objects = $2, updated_at = NULL WHERE session_id = $1', [
      id,
      [],
    ]);
    await insertEndedTurns(service.db, id, { count, results: 0 });
    for (const turn of changing) await writeTree(service, id, { '/workspace/turn': String(turn) }, turn);
    return id;
  };
  const forkAfter = async (session: string, turn: number) => {
    const answer = await service.api('POST', `/v1/sessions/${session}/fork`, {
      after_turn_id: `turn_${turn}${session}`,
    });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    const { id, workspace, forked_from } = answer.body;
    return { id: id as string, workspace, began: forked_from.workspace as string, tree: await read(id as string) };
  };

  it('the workspace of a fork begins as the version that stood at the end of the last copied turn, and goes on from its number', async () => {
    const original = await sessionWithTurns(6, [2, 3, 5]);
    const { body } = await service.api('GET', `/v1/sessions/${original}`);
    expect([body.workspace.version, body.workspace.began, body.forked_from]).to.deep.equal([3, undefined, null]);
    for (const [turn, version] of [1, 2, 3, 4, 5, 6].map((n) => [n, [0, 1, 2, 2, 3, 3][n - 1]!] as const)) {
      const { began, tree, workspace } = await forkAfter(original, turn);
      const expected = version === 0 ? {} : { turn: String([2, 3, 5][version - 1]) };
      expect({ began, tree }, `after turn ${turn}`).to.deep.equal({ began: 'exact', tree: expected });
      expect(workspace).to.include({ version, file_count: version === 0 ? 0 : 1 });
      expect(workspace.updated_at === null).to.equal(version === 0);
    }
    const before = await service.api('POST', `/v1/sessions/${original}/fork`, { before_turn_id: `turn_1${original}` });
    expect(before.body.forked_from).to.deep.equal({ session_id: original, turn_id: null, workspace: 'exact' });
    expect(await read(before.body.id as string)).to.deep.equal({});
  });

  it('the workspace of a fork is kept for the ends of the last 20 turns, and beyond them the fork says that it began as a later one', async () => {
    const original = await sessionWithTurns(30, [1, 3, 9, 10, 12, 30]);
    const trees = async (turn: number) => {
      const { began, tree } = await forkAfter(original, turn);
      return [began, tree.turn];
    };
    // While turn 30 runs, the last 20 are those from 10 on.
    expect(await trees(9)).to.deep.equal(['later', '10']);
    expect(await trees(1)).to.deep.equal(['later', '10']);
    expect(await trees(10)).to.deep.equal(['exact', '10']);
    expect(await trees(11)).to.deep.equal(['exact', '10']);
    expect(await trees(29)).to.deep.equal(['exact', '12']);
    expect(await trees(30)).to.deep.equal(['exact', '30']);
  });

  it('the workspace of a fork of a fork is exact for its last copied turn, and later for those before it', async () => {
    const original = await sessionWithTurns(4, [1, 2, 3, 4]);
    const { id: fork } = await forkAfter(original, 3);
    const { body } = await service.api('GET', `/v1/sessions/${fork}/turns`);
    const after = async (index: number) => {
      const after_turn_id = body.items[index].id as string;
      const { body: again } = await service.api('POST', `/v1/sessions/${fork}/fork`, { after_turn_id });
      return [again.forked_from.workspace, await read(again.id as string)];
    };
    expect(await after(0)).to.deep.equal(['exact', { turn: '3' }]);
    expect(await after(1)).to.deep.equal(['later', { turn: '3' }]);
    await writeTree(service, fork, { '/workspace/turn': 'new' }, 4);
    expect(await after(0)).to.deep.equal(['exact', { turn: '3' }]);
  });

  it('the workspace of a fork keeps older versions in the storage of the project, and maintenance keeps their objects until the session goes', async () => {
    const before = await storageOfProject();
    const large = 'x'.repeat(50_000);
    const original = await sessionWithTurns(3, []);
    await writeTree(service, original, { '/workspace/a': large }, 1);
    await writeTree(service, original, { '/workspace/a': 'small' }, 2);
    await writeTree(service, original, { '/workspace/a': 'other' }, 2);
    const [{ own }] = await service.db.query<[{ own: number }]>(
      'SELECT max(own_bytes)::integer AS own FROM kept_workspaces WHERE session_id = $1',
      [original],
    );
    expect(own).to.be.within(50_000, 51_000);
    const sum = await storageOfProject();
    expect(sum - before).to.be.at.least(50_000 + 5);
    await cleanStorage(service.db, await openStorage(service.config), { olderThanSeconds: -1, limit: 10_000 });
    const { id: fork, tree } = await forkAfter(original, 1);
    expect(tree).to.deep.equal({ a: large });
    await erase(original);
    expect(await read(fork)).to.deep.equal({ a: large });
    await erase(fork);
    expect(await storageOfProject()).to.equal(before);
    expect(await storedKeys(service, `workspaces/${original}`)).to.deep.equal([]);
  });

  it('the workspace of a fork of the whole session begins as the version that stands, and then the two share nothing', async () => {
    const original = await sessionWithTree(service, { '/workspace/a': 'old' });
    await writeTree(service, original, { '/workspace/a': 'newest', '/workspace/b': 'both' });
    const fork = await forkOf(original);
    expect(await read(fork)).to.deep.equal({ a: 'newest', b: 'both' });
    await writeTree(service, fork, { '/workspace/a': 'of the fork', '/workspace/b': 'both' });
    await writeTree(service, original, { '/workspace/c': 'of the original' });
    expect(await read(fork)).to.deep.equal({ a: 'of the fork', b: 'both' });
    expect(await read(original)).to.deep.equal({ c: 'of the original' });
  });

  it('the workspace of a fork counts in the storage of the project as its own, from its first change on', async () => {
    const before = await storageOfProject();
    const original = await sessionWithTree(service, { '/workspace/a': 'twelve bytes' });
    const fork = await forkOf(original);
    const storage = await openStorage(service.config);
    const sizeOf = async (session: string, bytes: number): Promise<number> => {
      const [row] = await service.db.query<{ key: string }[]>(
        'SELECT objects[1] AS key FROM workspaces WHERE session_id = $1',
        [session],
      );
      return bytes + (await storage.size(row!.key));
    };
    const ofOriginal = await sizeOf(original, 12);
    expect((await storageOfProject()) - before).to.equal(ofOriginal);
    await writeTree(service, fork, { '/workspace/a': 'of the fork' });
    const ofFork = await sizeOf(fork, 11);
    expect((await storageOfProject()) - before).to.equal(ofOriginal + ofFork);
    await erase(original);
    expect((await storageOfProject()) - before).to.equal(ofFork);
    await erase(fork);
    expect(await storageOfProject()).to.equal(before);
  });

  for (const first of ['original', 'fork'] as const) {
    it(`the workspace of a fork and that of the original live apart: the ${first} is erased first`, async () => {
      const original = await sessionWithTree(service, {
        '/workspace/a': 'shared',
        '/workspace/large': 'x'.repeat(100_000),
      });
      const fork = await forkOf(original);
      // The fork adds a pack of its own to those that it shares.
      await writeTree(service, fork, {
        '/workspace/a': 'shared',
        '/workspace/large': 'x'.repeat(100_000),
        '/workspace/n': 'new',
      });
      const again = await forkOf(fork);
      const [erased, left] = first === 'original' ? [original, fork] : [fork, original];
      const tree = await read(left);
      await erase(erased);
      expect(await read(left)).to.deep.equal(tree);
      expect(Object.keys(await read(again))).to.have.members(['a', 'large', 'n']);
      for (const session of [left, again]) await erase(session);
      const keys = await storedKeys(service, 'workspaces/');
      expect(keys.filter((key) => [original, fork, again].some((id) => key.includes(id)))).to.deep.equal([]);
    });
  }

  it('the workspace of a fork keeps its objects where the original changes, and maintenance runs, while the fork is made', async () => {
    const original = await sessionWithTree(service, { '/workspace/a': 'before' });
    // They have been there for long.
    const folder = join(fileURLToPath(service.config.storageUrl), 'workspaces', original);
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), 1, 1);
    const held = await holdStatement(service.db, 'INSERT ON workspaces');
    const forked = forkOf(original);
    await held.reached();
    await writeTree(service, original, { '/workspace/a': 'behind' });
    await cleanStorage(service.db, await openStorage(service.config), { olderThanSeconds: 3600, limit: 10_000 });
    await held.release();
    expect(await read(await forked)).to.deep.equal({ a: 'before' });
    expect(await read(original)).to.deep.equal({ a: 'behind' });
  });

  it('the workspace of a fork is never missing: the fork is refused where the original is deleted before it is copied', async () => {
    const original = await sessionWithTree(service, { '/workspace/a': 'x' });
    await service.db.query(`UPDATE configurations SET tools = '[{"type": "workspace"}]' WHERE id = $1`, [original]);
    const held = await holdStatement(service.db, 'INSERT ON session_states');
    const forked = service.api('POST', `/v1/sessions/${original}/fork`);
    await held.reached();
    expect((await service.api('DELETE', `/v1/sessions/${original}`)).status).to.equal(204);
    await held.release();
    const { status, body } = await forked;
    expect([status, body.error?.type]).to.deep.equal([404, 'session_not_found']);
  });

  it('the workspace of a fork of a session without one is none', async () => {
    const { id } = (await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).body;
    const { status, body } = await service.api('GET', `/v1/sessions/${await forkOf(id as string)}/workspace/files`);
    expect([status, body.error.type]).to.deep.equal([404, 'workspace_not_found']);
  });
});

describe('the workspace of a fork in a project whose storage is full', () => {
  const service = useService({ config: { maxStoragePerProject: 100_000 } });

  it('the workspace of a fork in a project whose storage has no room for it takes none, and is there to read', async () => {
    const original = await sessionWithTree(service, { '/workspace/a': 'x'.repeat(60_000) });
    for (let n = 0; n < 3; n += 1) {
      const { status, body } = await service.api('POST', `/v1/sessions/${original}/fork`);
      expect(status, JSON.stringify(body)).to.equal(201);
      expect(body.workspace.size_bytes).to.equal(60_000);
    }
  });
});

import { createHash, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { transaction } from '../../../src/db/transaction.js';
import { MAX_FILE_BYTES, MAX_VERSIONS } from '../../../src/memories/limits.js';
import { forgetOldVersions, readFiles, storeChanges, type Memory } from '../../../src/memories/store.js';
import { TEST_MODEL } from '../../support/config.js';
import { useService } from '../../support/use.js';

type Json = Record<string, unknown>;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const BY_MODEL = { session_id: 'ses_1', turn_id: 'turn_1', key_id: null };

/** docs/memory.md: memories over HTTP. */
describe('memories', () => {
  const service = useService();
  const ok = async (method: string, path: string, body?: object, expected = 200): Promise<Json> => {
    const answer = await service.api(method, path, body);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(expected);
    return answer.body as Json;
  };
  const refused = async (method: string, path: string, body: object | undefined, status: number, type: string) => {
    const answer = await service.api(method, path, body);
    expect(answer, JSON.stringify(answer.body)).to.include({ status });
    expect(answer.body.error.type).to.equal(type);
    return answer.body.error.details as Json;
  };
  const newMemory = async (user = `user-${randomUUID()}`): Promise<string> =>
    (await ok('POST', '/v1/memories', { user }, 201)).id as string;
  const write = (id: string, path: string, content: string, more: object = {}): Promise<Json> =>
    ok('POST', `/v1/memories/${id}/files`, { path, content, ...more }, 201);
  const items = async (path: string): Promise<Json[]> => (await ok('GET', path)).items as Json[];
  /** As the tool changes it. */
  const change = async (id: string, ...changes: Parameters<typeof storeChanges>[3]): Promise<number> =>
    transaction(service.db, async (tx) => {
      const [memory] = await tx.query<[Memory]>('SELECT * FROM memories WHERE id = $1 FOR UPDATE', [id]);
      return storeChanges(tx, memory, (await readFiles(tx, id, null)).files, changes, BY_MODEL, 0);
    });
  const storedBytes = async (): Promise<number> => {
    const [row] = await service.db.query<{ bytes: number }[]>(
      'SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM project_storage',
    );
    return row!.bytes;
  };
  /** What the rows say, which the triggers and counters have to say too. */
  const requireCounts = async (): Promise<void> => {
    const wrong = await service.db.query<Json[]>(
      `SELECT m.* FROM memories m
       WHERE (file_count, size_bytes) <> (SELECT count(*), coalesce(sum(size_bytes), 0) FROM memory_files WHERE memory_id = m.id)
         OR (version_count, version_bytes) <> (
           SELECT count(*), coalesce(sum(octet_length(text)), 0) FROM memory_versions WHERE memory_id = m.id)`,
    );
    expect(wrong).to.deep.equal([]);
    const [sum] = await service.db.query<{ bytes: number }[]>(
      'SELECT coalesce(sum(size_bytes + version_bytes), 0)::bigint AS bytes FROM memories',
    );
    expect(await storedBytes()).to.equal(sum!.bytes);
  };
  afterEach(requireCounts);

  it('memories are one for each owner, and found by user', async () => {
    const user = `user-${randomUUID()}`;
    const both = await Promise.all([1, 2, 3].map(() => ok('POST', '/v1/memories', { user }, 201)));
    expect(new Set(both.map(({ id }) => id)).size).to.equal(1);
    expect(both[0]).to.include({ user, agent_id: null, version: 0, file_count: 0, size_bytes: 0 });
    const ofProject = await ok('POST', '/v1/memories', {}, 201);
    expect(ofProject).to.include({ user: null, agent_id: null });
    expect((await ok('POST', '/v1/memories', { user: null }, 201)).id).to.equal(ofProject.id);
    expect(await items(`/v1/memories?user=${user}`)).to.deep.equal([both[0]]);
    expect((await items('/v1/memories')).map(({ id }) => id)).to.include.members([ofProject.id, both[0]!.id]);
    expect(await items('/v1/memories?agent_id=agent_1')).to.deep.equal([]);
    expect(await ok('GET', `/v1/memories/${both[0]!.id as string}`)).to.deep.equal(both[0]);
    const other = service.as(await service.newKey({ project: `other-${randomUUID()}` }));
    expect((await other('GET', `/v1/memories/${both[0]!.id as string}`)).body.error.type).to.equal('memory_not_found');
    await refused('POST', '/v1/memories', { user: 'not a user' }, 422, 'validation_error');
  });

  it('memories have files that are written, listed in the order of bytes, and read as they are', async () => {
    const id = await newMemory();
    const file = await write(id, '/b/c.md', 'é\r\n');
    const key = (file.updated_by as Json).key_id as string;
    expect(file).to.deep.include({ path: '/b/c.md', size_bytes: 4, sha256: sha256('é\r\n'), version: 1 });
    expect(file.updated_by).to.deep.equal({ session_id: null, turn_id: null, key_id: key });
    for (const path of ['/b.md', '/b/é', '/b/z', '/a']) await write(id, path, '');
    const paths = (list: Json[]) => list.map(({ path }) => path);
    expect(paths(await items(`/v1/memories/${id}/files`))).to.deep.equal(['/a', '/b.md', '/b/c.md', '/b/z', '/b/é']);
    expect(paths(await items(`/v1/memories/${id}/files?path=/b`))).to.deep.equal(['/b/c.md', '/b/z', '/b/é']);
    expect(await items(`/v1/memories/${id}/files?path=/b.md`)).to.deep.equal([]);
    const first = await ok('GET', `/v1/memories/${id}/files?limit=3`);
    const next = encodeURIComponent((first.meta as Json).next_cursor as string);
    expect(paths(await items(`/v1/memories/${id}/files?limit=3&cursor=${next}`))).to.deep.equal(['/b/z', '/b/é']);
    await refused('GET', `/v1/memories/${id}/files?path=/b&cursor=${next}`, undefined, 422, 'invalid_cursor');

    const headers = { Authorization: `Bearer ${service.key}` };
    const read = (query: string) => fetch(`${service.url}/v1/memories/${id}/content?${query}`, { headers });
    const content = await read('path=/b/c.md');
    expect(Buffer.from(await content.arrayBuffer()).toString()).to.equal('é\r\n');
    expect(content.headers.get('content-type')).to.equal('text/plain; charset=utf-8');
    expect(content.headers.get('x-content-type-options')).to.equal('nosniff');
    expect(await (await read('path=/a')).text()).to.equal('');
    for (const query of ['path=/b', 'path=/x', 'path=/b/c.md&version=9']) {
      await refused('GET', `/v1/memories/${id}/content?${query}`, undefined, 404, 'memory_file_not_found');
    }
    for (const query of ['path=b', 'path=/b/', 'path=/..', 'path=/a&version=x', 'version=1'])
      await refused('GET', `/v1/memories/${id}/content?${query}`, undefined, 422, 'validation_error');
  });

  it('memories refuse paths that the tool refuses, and what is in the way', async () => {
    const id = await newMemory();
    await write(id, '/a/b', 'x');
    for (const path of ['a', '/', '/a/', '//a', '/a/../b', '/a\n', '/a\\b', `/${'x'.repeat(101)}`, '/a', '/a/b/c']) {
      const details = await refused('POST', `/v1/memories/${id}/files`, { path, content: '' }, 422, 'validation_error');
      expect((details.errors as Json[])[0]!.path, path).to.equal('/path');
    }
    await write(id, `/${'x'.repeat(100)}/${'x'.repeat(100)}/${'x'.repeat(53)}`, '');
    const content = await refused(
      'POST',
      `/v1/memories/${id}/files`,
      { path: '/n', content: '\0' },
      422,
      'validation_error',
    );
    expect((content.errors as Json[])[0]!.path).to.equal('/content');
    await write(id, '/full', 'x'.repeat(MAX_FILE_BYTES));
    const over = { path: '/full', content: 'x'.repeat(MAX_FILE_BYTES + 1) };
    expect(await refused('POST', `/v1/memories/${id}/files`, over, 413, 'content_too_large')).to.deep.equal({
      max_bytes: MAX_FILE_BYTES,
    });
    await refused('POST', '/v1/memories/mem_x/files', { path: '/a', content: '' }, 404, 'memory_not_found');
  });

  it('memories let a client write over what it has read, and nothing else', async () => {
    const id = await newMemory();
    const path = '/a';
    const put = { path, content: 'one', expected_sha256: null };
    await write(id, path, 'one', put);
    const conflict = await refused('POST', `/v1/memories/${id}/files`, put, 409, 'memory_conflict');
    expect(conflict).to.deep.equal({ sha256: sha256('one') });
    await write(id, path, 'two', { expected_sha256: sha256('one').toUpperCase() });
    await refused(
      'POST',
      `/v1/memories/${id}/files`,
      { ...put, expected_sha256: sha256('one') },
      409,
      'memory_conflict',
    );
    const missing = { path: '/b', content: '', expected_sha256: sha256('') };
    expect(await refused('POST', `/v1/memories/${id}/files`, missing, 409, 'memory_conflict')).to.deep.equal({
      sha256: null,
    });
    expect(await ok('GET', `/v1/memories/${id}`)).to.include({ version: 2, file_count: 1 });
    const key = randomUUID();
    const send = () =>
      service.api('POST', `/v1/memories/${id}/files`, { path, content: 'three' }, { 'Idempotency-Key': key });
    const [first, again] = [await send(), await send()];
    expect(again.body).to.deep.equal(first.body);
    expect(await ok('GET', `/v1/memories/${id}`)).to.include({ version: 3 });
  });

  it('memories keep versions: what became of each file, by whom, and the text that it had', async () => {
    const id = await newMemory();
    await write(id, '/a', 'one');
    expect(await change(id, { kind: 'modified', path: '/a', text: 'two' })).to.equal(2);
    await write(id, '/n/c', 'see');
    await change(id, { kind: 'renamed', path: '/a', to: '/n/a' });
    await change(id, { kind: 'deleted', path: '/n/a' }, { kind: 'deleted', path: '/n/c' });
    const versions = await items(`/v1/memories/${id}/versions`);
    expect(versions.map(({ version, path, change: what }) => [version, path, what])).to.deep.equal([
      [5, '/n/c', 'deleted'],
      [5, '/n/a', 'deleted'],
      [4, '/n/a', 'created'],
      [4, '/a', 'deleted'],
      [3, '/n/c', 'created'],
      [2, '/a', 'modified'],
      [1, '/a', 'created'],
    ]);
    expect(versions[0]).to.include({ size_bytes: null, sha256: null }).and.deep.include({ by: BY_MODEL });
    expect(versions[2]).to.include({ size_bytes: 3, sha256: sha256('two') });
    const page = await ok('GET', `/v1/memories/${id}/versions?limit=3`);
    const next = encodeURIComponent((page.meta as Json).next_cursor as string);
    expect(await items(`/v1/memories/${id}/versions?limit=9&cursor=${next}`)).to.deep.equal(versions.slice(3));
    expect((await items(`/v1/memories/${id}/versions?path=/a`)).map(({ version }) => version)).to.deep.equal([4, 2, 1]);
    const textOf = async (path: string, version: number): Promise<string> =>
      (await service.api('GET', `/v1/memories/${id}/content?path=${path}&version=${version}`)).body as string;
    expect(await textOf('/a', 1)).to.equal('one');
    expect(await textOf('/a', 3)).to.equal('two');
    expect(await textOf('/n/a', 4)).to.equal('two');
    for (const [path, version] of [
      ['/a', 4],
      ['/a', 5],
      ['/a', 6],
      ['/a', 0],
      ['/n/a', 3],
    ])
      await refused(
        'GET',
        `/v1/memories/${id}/content?path=${path}&version=${version}`,
        undefined,
        404,
        'memory_file_not_found',
      );
  });

  it('memories are erased for good: no row, page or version has a byte of it, whatever the file was called before', async () => {
    const [id, mark] = [await newMemory(), `mark${randomUUID()}`];
    const key = randomUUID();
    await service.api(
      'POST',
      `/v1/memories/${id}/files`,
      { path: `/${mark}`, content: mark },
      { 'Idempotency-Key': key },
    );
    await change(id, { kind: 'modified', path: `/${mark}`, text: `${mark} 2` });
    await change(id, { kind: 'renamed', path: `/${mark}`, to: '/d/new' });
    await write(id, '/d/gone', `${mark} 3`);
    await change(id, { kind: 'deleted', path: '/d/gone' });
    await write(id, '/other', 'stays');
    const marked = async (): Promise<string[]> => {
      const tables = ['memories', 'memory_files', 'memory_versions', 'idempotency_records'];
      const found = await Promise.all(
        tables.map((table) =>
          service.db.query<Json[]>(`SELECT FROM ${table} t WHERE position($1 IN t::text) > 0`, [mark]),
        ),
      );
      return tables.filter((_, index) => found[index]!.length > 0);
    };
    expect(await marked()).to.deep.equal(['memory_files', 'memory_versions', 'idempotency_records']);
    const before = (await ok('GET', `/v1/memories/${id}`)).version as number;
    await ok('DELETE', `/v1/memories/${id}/files?path=/d`, undefined, 204);
    expect(await marked()).to.deep.equal(['idempotency_records']);
    await ok('DELETE', `/v1/memories/${id}/files?path=/${mark}`, undefined, 404);
    await requireCounts();
    expect(await ok('GET', `/v1/memories/${id}`)).to.include({ version: before + 1, file_count: 1, size_bytes: 5 });
    expect((await items(`/v1/memories/${id}/versions`)).map(({ path }) => path)).to.deep.equal(['/other']);

    await ok('DELETE', `/v1/memories/${id}`, undefined, 204);
    expect(await marked()).to.deep.equal([]);
    await refused('GET', `/v1/memories/${id}`, undefined, 404, 'memory_not_found');
    await refused('DELETE', `/v1/memories/${id}`, undefined, 404, 'memory_not_found');
  });

  it('memories of a user are erased together, and those of nobody else', async () => {
    const [jane, joe] = [`jane-${randomUUID()}`, `joe-${randomUUID()}`];
    const ids = [await newMemory(jane), await newMemory(joe)];
    for (const id of ids) await write(id, '/a', 'text');
    const details = await refused('DELETE', '/v1/memories', undefined, 422, 'validation_error');
    expect((details.errors as Json[])[0]!.path).to.equal('/query/user');
    await ok('DELETE', `/v1/memories?user=${jane}`, undefined, 204);
    await ok('DELETE', `/v1/memories?user=${jane}`, undefined, 204);
    await refused('GET', `/v1/memories/${ids[0]}`, undefined, 404, 'memory_not_found');
    expect(await ok('GET', `/v1/memories/${ids[1]}`)).to.include({ file_count: 1 });
    expect(await newMemory(jane)).not.to.equal(ids[0]);
  });

  it('memories keep the newest thousand versions, of thirty days, and the present texts', async () => {
    const id = await newMemory();
    await write(id, '/first', 'first');
    const many = Array.from({ length: 600 }, (_, n) => `/f/${n}`);
    for (const path of many.slice(0, 5)) await write(id, path, 'x');
    await transaction(service.db, async (tx) => {
      const [memory] = await tx.query<[Memory]>('SELECT * FROM memories WHERE id = $1 FOR UPDATE', [id]);
      const { files } = await readFiles(tx, id, null);
      await storeChanges(
        tx,
        memory,
        files,
        many.slice(5).map((path) => ({ kind: 'created', path, text: 'x' })),
        BY_MODEL,
        0,
      );
    });
    await change(id, ...many.map((path) => ({ kind: 'renamed' as const, path, to: path.replace('/f/', '/g/') })));
    await requireCounts();
    const [kept] = await service.db.query<{ version_count: number }[]>(
      'SELECT version_count FROM memories WHERE id = $1',
      [id],
    );
    expect(kept!.version_count).to.equal(MAX_VERSIONS);
    expect(await items(`/v1/memories/${id}/versions?path=/first`)).to.deep.equal([]);
    expect((await service.api('GET', `/v1/memories/${id}/content?path=/first`)).body).to.equal('first');
    expect((await service.api('GET', `/v1/memories/${id}/content?path=/first&version=3`)).body).to.equal('first');

    const [memory, file] = [await newMemory(), '/a'];
    await write(memory, file, 'old');
    await write(memory, file, 'new');
    await service.db.query(
      "UPDATE memory_versions SET created_at = created_at - interval '31 days' WHERE memory_id = $1 AND version = 1",
      [memory],
    );
    expect(await transaction(service.db, (tx) => forgetOldVersions(tx, 30, 100))).to.equal(1);
    expect((await items(`/v1/memories/${memory}/versions`)).map(({ version }) => version)).to.deep.equal([2]);
    await refused(
      'GET',
      `/v1/memories/${memory}/content?path=${file}&version=1`,
      undefined,
      404,
      'memory_file_not_found',
    );
  });

  it('memories are for keys with their permissions, and for no session token', async () => {
    const reader = service.as(await service.newKey({ scopes: ['memories:read', 'sessions:write'] }));
    expect((await reader('GET', '/v1/memories')).status).to.equal(200);
    const body = { model_id: TEST_MODEL.id, user: 'jane' };
    const needs = async (tools: object[]): Promise<unknown> => {
      const answer = await reader('POST', '/v1/sessions', { ...body, tools });
      return answer.status === 201 ? null : answer.body.error.details.required;
    };
    expect(await needs([{ type: 'memory', of: 'project' }])).to.equal(null);
    expect(await needs([{ type: 'memory', of: 'project', access: 'read_write' }])).to.equal('memories:write');
    expect(await needs([{ type: 'memory', of: 'user' }])).to.equal('memories:write');
    expect(await needs([{ type: 'memory', of: 'user', access: 'read_only' }])).to.equal(null);
    expect((await reader('POST', '/v1/memories', {})).body.error.details.required).to.equal('memories:write');
  });

  it('memories are entries of tools with an owner that the session has, each at most once', async () => {
    const at = async (tools: object[], more: object = { user: 'jane' }): Promise<unknown> => {
      const answer = await service.api('POST', '/v1/sessions', { model_id: TEST_MODEL.id, tools, ...more });
      if (answer.status === 201) return answer.body.tools;
      return answer.body.error.details.errors[0].path;
    };
    const [user, project] = [
      { type: 'memory', of: 'user' },
      { type: 'memory', of: 'project' },
    ];
    const custom = { type: 'custom', name: 'memory', description: '', input_schema: { type: 'object' } };
    expect(await at([user, project])).to.deep.equal([user, project]);
    expect(await at([project, user, project])).to.equal('/tools/2/of');
    expect(await at([project, user], {})).to.equal('/tools/1/of');
    expect(await at([custom, user])).to.equal('/tools/0/name');
    expect(await at([custom])).to.deep.equal([custom]);
    expect(await at([{ ...user, of: 'all' }])).to.match(/^\/tools\/0/);
    expect(await at([{ ...user, access: 'write' }])).to.match(/^\/tools\/0/);
  });
});

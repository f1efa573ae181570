import { expect } from 'chai';
import { cleanStorage } from '../../../src/files/maintenance.js';
import { openStorage } from '../../../src/files/open-storage.js';
import { readNewest } from '../../../api/workspace/resource.js';
import { ManifestReader } from '../../../src/workspaces/manifest-reader.js';
import { allItems } from '../../support/pages.js';
import { readZip } from '../../support/read-zip.js';
import { reachedLimit } from '../../support/rows.js';
import { storedKeys } from '../../support/storage.js';
import type { TokenScope } from '../../../src/projects/permissions.js';
import { newToken } from '../../support/tokens.js';
import { useService } from '../../support/use.js';
import { giveWorkspace, newestWorkspace, sessionWithTree, writeTree, type TestTree } from '../../support/workspaces.js';

const TREE: TestTree = {
  '/workspace/bin': { folder: 0o700 },
  '/workspace/bin/run': { content: '#!/bin/sh\n', mode: 0o755 },
  '/workspace/latest': { link: 'bin/run' },
  '/workspace/report.csv': 'a,b\n1,2\n',
  '/mnt/session/outputs/Übung "1";%.html': '<script>alert(1)</script>',
};

describe('reading a workspace', () => {
  const service = useService();
  const path = (session: string, operation: string, query: Record<string, string> = {}): string =>
    `/v1/sessions/${session}/workspace/${operation}?${new URLSearchParams(query).toString()}`;
  const get = (session: string, operation: string, query: Record<string, string> = {}) =>
    service.api('GET', path(session, operation, query));
  const download = (session: string, operation: string, query: Record<string, string> = {}, init: RequestInit = {}) =>
    fetch(service.url + path(session, operation, query), {
      headers: { Authorization: `Bearer ${service.key}` },
      ...init,
    });
  const errorOf = async (answer: ReturnType<typeof get>): Promise<unknown[]> => {
    const { status, body } = await answer;
    return [
      status,
      body.error?.type,
      ...(body.error?.details?.errors ?? []).map((error: { path: string }) => error.path),
    ];
  };

  it('reading a workspace shows its files, folders and links with all that is kept of them', async () => {
    const session = await sessionWithTree(service, TREE);
    const { status, body } = await get(session, 'files');
    expect([status, body.meta.next_cursor]).to.deep.equal([200, null]);
    const none = { size_bytes: null, modified_at: null, sha256: null, target: null };
    const time = '2026-11-21T09:48:04.000000Z';
    expect(body.items).to.deep.equal([
      { ...none, path: '/workspace/bin', type: 'directory', mode: '0700' },
      {
        ...none,
        ...{ path: '/workspace/bin/run', type: 'file', mode: '0755', size_bytes: 10, modified_at: time },
        sha256: 'a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf',
      },
      { ...none, path: '/workspace/latest', type: 'symlink', mode: '0777', target: 'bin/run' },
      {
        ...none,
        ...{ path: '/workspace/report.csv', type: 'file', mode: '0644', size_bytes: 8, modified_at: time },
        sha256: '492d5ea496056f1a6a6592241032fab764c321596317930b4fa0e1e8bc3b7470',
      },
    ]);
  });

  it('reading a workspace lists any folder, and pages go on in the version that is there by then', async () => {
    const paths = Array.from({ length: 7 }, (_, index) => `/workspace/f${index}`);
    const session = await sessionWithTree(service, Object.fromEntries(paths.map((name) => [name, name])));
    expect(await allItems(service.api, path(session, 'files', { limit: '2' }))).to.have.length(7);
    expect(
      (await get(session, 'files', { path: '/mnt' })).body.items.map((item: { path: string }) => item.path),
    ).to.deep.equal(['/mnt/session', '/mnt/session/outputs']);

    const first = (await get(session, 'files', { limit: '3' })).body;
    // The last one of the page is deleted, and others come before and behind it.
    await writeTree(service, session, { '/workspace/f1': 'x', '/workspace/f2b': 'x', '/workspace/f6': 'x' });
    const rest = await get(session, 'files', { cursor: first.meta.next_cursor });
    expect(rest.body.items.map((item: { path: string }) => item.path)).to.deep.equal([
      '/workspace/f2b',
      '/workspace/f6',
    ]);
    const other = get(session, 'files', { cursor: first.meta.next_cursor, path: '/tmp' });
    expect(await errorOf(other)).to.deep.equal([422, 'invalid_cursor']);
  });

  it('reading a workspace pages by paths that are as long and as strange as they may be', async () => {
    const folder = `/workspace/${'\u0001'.repeat(250)}`;
    const long = `${folder}/${'\u0002'.repeat(250)}/${'\u0003'.repeat(250)}/`;
    const names = ['a', 'b', 'c'].map((name) => `${long}${name.padEnd(1024 - long.length, '\u0004')}`);
    const session = await sessionWithTree(service, Object.fromEntries(names.map((name) => [name, 'x'])));
    const items = await allItems(service.api, path(session, 'files', { limit: '1', path: long.slice(0, -1) }));
    // Compared as a whole: a report of these names fills pages.
    expect(JSON.stringify(items.map((item) => item.path)) === JSON.stringify(names)).to.equal(true);
  });

  it('reading a workspace gives the bytes of a file with its name, type and length', async () => {
    const session = await sessionWithTree(service, TREE);
    const html = await download(session, 'content', { path: '/mnt/session/outputs/Übung "1";%.html' });
    expect(html.status).to.equal(200);
    expect(await html.text()).to.equal('<script>alert(1)</script>');
    const headers = Object.fromEntries(html.headers);
    expect(headers).to.include({
      'content-type': 'text/html',
      'content-length': '25',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    });
    expect(headers['content-disposition'])
      .to.match(/^attachment;/)
      .and.contain("filename*=UTF-8''%C3%9Cbung%20%221%22%3B%25.html");

    const run = await download(session, 'content', { path: '/workspace/bin/run' });
    expect([run.headers.get('content-type'), await run.text()]).to.deep.equal([
      'application/octet-stream',
      '#!/bin/sh\n',
    ]);
    const head = await download(session, 'content', { path: '/workspace/report.csv' }, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).to.deep.equal([200, '8', '']);
  });

  it('reading a workspace gives empty files, and large ones whole', async () => {
    const large = Buffer.alloc(3_000_000, 'large ');
    const session = await sessionWithTree(service, {
      '/workspace/empty': '',
      '/workspace/large': large,
      '/tmp/a': 'a',
    });
    const empty = await download(session, 'content', { path: '/workspace/empty' });
    expect([empty.status, empty.headers.get('content-length'), await empty.text()]).to.deep.equal([200, '0', '']);
    const found = await download(session, 'content', { path: '/workspace/large' });
    expect(Buffer.from(await found.arrayBuffer()).equals(large)).to.equal(true);
  });

  it('reading a workspace gives a folder as ZIP, whose length is known before', async () => {
    const session = await sessionWithTree(service, TREE);
    const zip = await download(session, 'archive');
    const bytes = Buffer.from(await zip.arrayBuffer());
    expect(Object.fromEntries(zip.headers)).to.include({
      'content-type': 'application/zip',
      'content-length': String(bytes.length),
      'x-content-type-options': 'nosniff',
      'content-disposition': `attachment; filename="workspace.zip"; filename*=UTF-8''workspace.zip`,
    });
    const found = await readZip(bytes);
    expect(Object.keys(found).toSorted()).to.deep.equal(['bin/', 'bin/run', 'report.csv']);
    expect(found['bin/run']!.mode).to.equal(0o100755);
    const below = await readZip(
      Buffer.from(await (await download(session, 'archive', { path: '/workspace/bin' })).arrayBuffer()),
    );
    expect(Object.keys(below)).to.deep.equal(['run']);
    const head = await download(session, 'archive', {}, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).to.deep.equal([200, String(bytes.length)]);
  });

  it('reading a workspace that nothing has changed finds the folders that every workspace has', async () => {
    const { id: session } = (await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).body;
    await giveWorkspace(service.db, session);
    expect((await get(session, 'files')).body.items).to.deep.equal([]);
    expect(await readZip(Buffer.from(await (await download(session, 'archive')).arrayBuffer()))).to.deep.equal({});
    expect(await errorOf(get(session, 'content', { path: '/workspace/a' }))).to.deep.equal([
      404,
      'workspace_file_not_found',
    ]);
  });

  it('reading a workspace says what is missing: the session, its workspace, the path, or what is at the path', async () => {
    const session = await sessionWithTree(service, TREE);
    const { id: without } = (await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).body;
    for (const operation of ['files', 'content', 'archive']) {
      const query = { path: '/workspace/report.csv' };
      expect(await errorOf(get('ses_none', operation, query))).to.deep.equal([404, 'session_not_found']);
      expect(await errorOf(get(without, operation, query))).to.deep.equal([404, 'workspace_not_found']);
      for (const wrong of ['workspace/report.csv', '', './x'])
        expect(await errorOf(get(session, operation, { path: wrong }))).to.deep.equal([
          422,
          'validation_error',
          '/query/path',
        ]);
      expect(await errorOf(get(session, operation, { path: '/workspace/a\0' }))).to.deep.equal([
        422,
        'validation_error',
        '/query/path',
      ]);
      const missing = [
        '/workspace/none',
        '/workspace/latest',
        '/workspace/latest/x',
        '/workspace/../etc/passwd',
        '/etc/passwd',
      ];
      const wrongKind =
        operation === 'content' ? ['/workspace/bin', '/workspace', '/'] : ['/workspace/report.csv', '/workspace/'];
      for (const wrong of [...missing, ...wrongKind])
        expect(await errorOf(get(session, operation, { path: wrong })), wrong).to.deep.equal([
          404,
          'workspace_file_not_found',
        ]);
    }
    expect(await errorOf(get(session, 'content'))).to.deep.equal([422, 'validation_error', '/query/path']);
  });

  it('reading a workspace ends with its session', async () => {
    const session = await sessionWithTree(service, TREE);
    await service.api('DELETE', `/v1/sessions/${session}`);
    expect(await errorOf(get(session, 'files'))).to.deep.equal([404, 'session_not_found']);
  });

  it('reading a workspace needs `files:read`, and the scope `workspace` of a token', async () => {
    const session = await sessionWithTree(service, TREE);
    const other = await sessionWithTree(service, TREE);
    const read = async (scopes: TokenScope[], of: string): Promise<[number, unknown]> => {
      const { status, body } = await service.as(await newToken(service, session, { scopes }))('GET', path(of, 'files'));
      return [status, status === 200 ? body.items[0].path : body.error.details];
    };
    expect(await read(['workspace'], session)).to.deep.equal([200, '/workspace/bin']);
    expect((await read(['workspace'], other))[0]).to.equal(404);
    expect(await read(['read', 'send', 'cancel', 'answer', 'files', 'fork'], session)).to.deep.equal([
      403,
      { required: 'workspace' },
    ]);
  });

  it('reading a workspace downloads 8 files of a project at once: the next one waits, and other projects do not wait for it', async () => {
    const session = await sessionWithTree(service, { '/workspace/large': Buffer.alloc(16 * 1024 * 1024) });
    const stranger = service.as(await service.newKey({ project: 'strangers' }));
    const theirs = await sessionWithTree(service, { '/workspace/a': 'theirs' }, stranger);
    const query = { path: '/workspace/large' };
    const leave = new AbortController();
    const held = await Promise.all(
      Array.from({ length: 8 }, () => download(session, 'content', query, { signal: leave.signal })),
    );
    expect(held.map(({ status }) => status)).to.deep.equal(Array(8).fill(200));
    let hasCome = false;
    const next = download(session, 'content', query).then((answer) => {
      hasCome = true;
      return answer;
    });
    // Neither reads other than downloads nor other projects wait, and the ninth has not come before them.
    expect((await get(session, 'files')).status).to.equal(200);
    expect((await stranger('GET', path(theirs, 'content', { path: '/workspace/a' }))).body).to.equal('theirs');
    expect(hasCome).to.equal(false);
    leave.abort();
    expect((await next).status).to.equal(200);
    expect((await (await next).arrayBuffer()).byteLength).to.equal(16 * 1024 * 1024);
    reachedLimit('downloads from workspaces of a project at once: 8');
  });

  describe('whose objects are not there', () => {
    it('reading a workspace goes on with the newest version where maintenance has removed the one that a request began with', async () => {
      const session = await sessionWithTree(service, { '/workspace/a': 'first' });
      const { manifestKey } = await newestWorkspace(service.db, session);
      await writeTree(service, session, { '/workspace/a': 'second' });
      const storage = await openStorage(service.config);
      await cleanStorage(service.db, storage, { olderThanSeconds: -1, limit: 1000 });
      // The request begins with the version before: its statement has run before the change.
      const deps = { db: service.db, storage };
      const [{ project_id: projectId }] = await service.db.query<[{ project_id: string }]>(
        'SELECT project_id FROM sessions WHERE id = $1',
        [session],
      );
      const call = {
        deps: { ...deps, manifests: new ManifestReader(storage) },
        caller: { projectId },
        params: { session_id: session },
        resource: { version: 1, manifestKey, cwd: '/workspace' },
      } as unknown as Parameters<typeof readNewest>[0];
      const { entries } = await readNewest(call, (manifest) => Promise.resolve(manifest));
      expect(entries.map((entry) => 'size' in entry && entry.size)).to.deep.equal([6]);
    });

    it('reading a workspace that has lost an object is a storage_error, before the first byte', async () => {
      const session = await sessionWithTree(service, { '/workspace/a': 'content' });
      const storage = await openStorage(service.config);
      const keys = await storedKeys(service, `workspaces/${session}/`);
      const { manifestKey } = await newestWorkspace(service.db, session);
      expect((await get(session, 'files')).status).to.equal(200);
      for (const key of keys.filter((one) => one !== manifestKey)) await storage.delete(key);
      for (const operation of ['content', 'archive'])
        expect(
          await errorOf(get(session, operation, operation === 'content' ? { path: '/workspace/a' } : {})),
        ).to.deep.equal([502, 'storage_error']);

      const other = await sessionWithTree(service, { '/workspace/a': 'content' });
      await storage.delete((await newestWorkspace(service.db, other)).manifestKey!);
      expect(await errorOf(get(other, 'files'))).to.deep.equal([502, 'storage_error']);
    });

    it('reading a workspace whose object is too short cuts the connection: no half of a file looks whole', async () => {
      const content = 'x'.repeat(200_000);
      const session = await sessionWithTree(service, { '/workspace/a': content });
      const storage = await openStorage(service.config);
      const { manifestKey } = await newestWorkspace(service.db, session);
      const [pack] = (await storedKeys(service, `workspaces/${session}/`)).filter((key) => key !== manifestKey);
      await storage.put(pack!, Buffer.from(content.slice(0, 100_000)), { contentType: 'text/plain' });
      for (const operation of ['content', 'archive']) {
        const query: Record<string, string> = operation === 'content' ? { path: '/workspace/a' } : {};
        const read = download(session, operation, query).then(async (answer) => ({
          status: answer.status,
          bytes: (await answer.arrayBuffer()).byteLength,
        }));
        const outcome = await read.catch((error: Error) => error.name);
        if (typeof outcome === 'object') expect(outcome.status, operation).to.equal(500);
        else expect(outcome).to.equal('TypeError');
      }
    });
  });
});

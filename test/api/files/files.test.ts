import { expect } from 'chai';
import { createHmac, hkdfSync } from 'node:crypto';
import { insertFile } from '../../../src/files/store.js';
import { newId } from '../../../src/platform/ids.js';
import { startService, type TestService } from '../../support/service.js';
import { storedKeys } from '../../support/storage.js';
import { upload, type FileBody } from '../../support/upload.js';
import { reachedLimit } from '../../support/rows.js';
import { useService } from '../../support/use.js';

describe('files', () => {
  const service = useService();

  const uploaded = async (name = 'a.txt', content = 'content'): Promise<FileBody> =>
    (await upload(service, name, content)).body as FileBody;
  const link = async (id: string): Promise<string> =>
    (await service.api('GET', `/v1/files/${id}/content`)).headers.get('location')!;

  describe('GET /v1/files', () => {
    let own: ReturnType<TestService['as']>;
    const sessionId = newId('session');
    const ids: string[] = [];
    before(async () => {
      const key = await service.newKey({ project: 'listing' });
      own = service.as(key);
      const first = await upload({ api: own }, '0.txt');
      ids.push(first.body.id);
      const [{ project_id: project }] = await service.db.query('SELECT project_id FROM files WHERE id = $1', ids);
      for (const [index, session] of [sessionId, newId('session'), sessionId].entries()) {
        const row = await insertFile(service.db, {
          id: newId('file'),
          project_id: project,
          filename: `${index}.txt`,
          mime_type: 'text/plain',
          size_bytes: 1,
          origin: 'OUTPUT',
          session_id: session,
          storage_key: `files/${project}/${index}`,
        });
        ids.unshift(row.id);
      }
    });
    const listed = async (query: string): Promise<string[]> =>
      (await own('GET', `/v1/files${query}`)).body.items.map((file: FileBody) => file.id);

    it('GET /v1/files gives all of the project, newest first', async () => {
      expect(await listed('')).to.deep.equal(ids);
    });

    it('GET /v1/files filters by origin and by session', async () => {
      expect(await listed('?origin=UPLOAD')).to.deep.equal([ids[3]]);
      expect(await listed('?origin=OUTPUT')).to.deep.equal(ids.slice(0, 3));
      expect(await listed(`?session_id=${sessionId}`)).to.deep.equal([ids[0], ids[2]]);
      expect(await listed(`?session_id=${sessionId}&origin=UPLOAD`)).to.deep.equal([]);
      expect(await listed('?session_id=ses_unknown')).to.deep.equal([]);
    });

    it('GET /v1/files refuses a wrong origin', async () => {
      for (const origin of ['upload', '']) {
        const { status, body } = await own('GET', `/v1/files?origin=${origin}`);
        expect([status, body.error.type]).to.deep.equal([422, 'validation_error']);
        expect(body.error.details.errors[0].path).to.equal('/query/origin');
      }
    });

    it('GET /v1/files refuses a cursor of another filter', async () => {
      const { next_cursor: cursor } = (await own('GET', '/v1/files?limit=1')).body.meta;
      for (const query of ['origin=OUTPUT', `session_id=${sessionId}`]) {
        const { status, body } = await own('GET', `/v1/files?limit=1&cursor=${cursor}&${query}`);
        expect([status, body.error.type]).to.deep.equal([422, 'invalid_cursor']);
      }
    });
  });

  describe('GET /v1/files/{file_id}/content', () => {
    it('GET /v1/files/{file_id}/content redirects to a link that needs no key and bears the name', async () => {
      const file = await uploaded('Prüf "1".html', '<script>alert(1)</script>');
      const { status, headers, body } = await service.api('GET', `/v1/files/${file.id}/content`);
      expect([status, body]).to.deep.equal([307, null]);
      const response = await fetch(headers.get('location')!);
      expect(response.status).to.equal(200);
      expect(await response.text()).to.equal('<script>alert(1)</script>');
      expect(response.headers.get('content-disposition')).to.match(
        /^attachment; filename="Pr_f \\"1\\".html"; filename\*=UTF-8''Pr%C3%BCf%20%221%22.html$/,
      );
      expect(response.headers.get('content-type')).to.equal('text/html');
      expect(response.headers.get('content-length')).to.equal('25');
      expect(response.headers.get('x-content-type-options')).to.equal('nosniff');
      expect(response.headers.get('content-security-policy')).to.equal("default-src 'none'; sandbox");
    });

    it('GET /v1/files/{file_id}/content names ASCII files in the RFC 5987 form too', async () => {
      const response = await fetch(await link((await uploaded("it's (1).txt")).id));
      expect(response.headers.get('content-disposition')).to.equal(
        `attachment; filename="it's (1).txt"; filename*=UTF-8''it%27s%20%281%29.txt`,
      );
      await response.text();
    });

    it('GET /v1/files/{file_id}/content serves an empty file', async () => {
      const response = await fetch(await link((await uploaded('empty.bin', '')).id));
      expect([response.status, await response.text(), response.headers.get('content-length')]).to.deep.equal([
        200,
        '',
        '0',
      ]);
    });

    it('GET /v1/files/{file_id}/content answers HEAD with the same headers', async () => {
      const url = await link((await uploaded('a.txt', '12345')).id);
      const response = await fetch(url, { method: 'HEAD' });
      expect([response.status, response.headers.get('content-length'), await response.text()]).to.deep.equal([
        200,
        '5',
        '',
      ]);
    });

    it('GET /v1/files/{file_id}/content is honoured by another process', async () => {
      const other = await service.anotherApi();
      const url = (await link((await uploaded()).id)).replace(service.url, other.url);
      expect((await fetch(url)).status).to.equal(200);
    });

    describe('in ranges', () => {
      let url: string;
      before(async () => (url = await link((await uploaded('digits.txt', '0123456789')).id)));
      const cases: [range: string, status: number, body: string, contentRange: string | null][] = [
        ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
        ['bytes=8-', 206, '89', 'bytes 8-9/10'],
        ['bytes=-3', 206, '789', 'bytes 7-9/10'],
        ['bytes=-99', 206, '0123456789', 'bytes 0-9/10'],
        ['bytes=5-99', 206, '56789', 'bytes 5-9/10'],
        ['bytes=10-', 416, '', 'bytes */10'],
        ['bytes=-0', 416, '', 'bytes */10'],
        ['bytes=3-1', 200, '0123456789', null],
        ['bytes=0-1,4-5', 200, '0123456789', null],
        ['lines=1-2', 200, '0123456789', null],
        ['bytes=-', 200, '0123456789', null],
      ];
      for (const [range, status, body, contentRange] of cases) {
        it(`${range}: ${status}`, async () => {
          const response = await fetch(url, { headers: { Range: range } });
          expect([response.status, await response.text(), response.headers.get('content-range')]).to.deep.equal([
            status,
            body,
            contentRange,
          ]);
        });
      }

      it('If-Range asks for the part of the same version only', async () => {
        const etag = (await fetch(url, { method: 'HEAD' })).headers.get('etag')!;
        const part = await fetch(url, { headers: { Range: 'bytes=0-0', 'If-Range': etag } });
        const all = await fetch(url, { headers: { Range: 'bytes=0-0', 'If-Range': '"other"' } });
        expect([part.status, all.status]).to.deep.equal([206, 200]);
        await Promise.all([part.text(), all.text()]);
      });
    });

    const refusal = async (url: URL | string): Promise<[number, string]> => {
      const response = await fetch(url);
      const body = (await response.json()) as { error: { type: string } };
      return [response.status, body.error.type];
    };

    it('GET /v1/files/{file_id}/content refuses an altered link', async () => {
      const url = await link((await uploaded()).id);
      const other = await uploaded();
      const altered = [
        (to: URL) => (to.pathname = `/files/${other.id}`),
        (to: URL) => to.searchParams.set('expires', String(Number(to.searchParams.get('expires')) + 1)),
        (to: URL) => to.searchParams.set('signature', `A${to.searchParams.get('signature')!.slice(1)}A`),
        (to: URL) => to.searchParams.delete('signature'),
        (to: URL) => (to.search = ''),
      ];
      for (const alter of altered) {
        const to = new URL(url);
        alter(to);
        expect(await refusal(to)).to.deep.equal([403, 'invalid_link']);
      }
    });

    it('GET /v1/files/{file_id}/content is valid for one hour', async () => {
      const file = await uploaded();
      const expires = Number(new URL(await link(file.id)).searchParams.get('expires'));
      expect(expires - Date.now() / 1000).to.be.within(3590, 3600);
      const key = Buffer.from(hkdfSync('sha256', service.config.encryptionKeys[0]!, '', 'download-link', 32));
      const past = Math.floor(Date.now() / 1000) - 1;
      const signature = createHmac('sha256', key).update(`${file.id}\n${past}`).digest('base64url');
      const url = `${service.url}/files/${file.id}?expires=${past}&signature=${signature}`;
      expect(await refusal(url)).to.deep.equal([403, 'invalid_link']);
      reachedLimit('link: 1 hour');
    });

    it('GET /v1/files/{file_id}/content answers 404 once the file is deleted', async () => {
      const file = await uploaded();
      const url = await link(file.id);
      await service.api('DELETE', `/v1/files/${file.id}`);
      expect(await refusal(url)).to.deep.equal([404, 'file_not_found']);
    });
  });

  describe('DELETE /v1/files/{file_id}', () => {
    it('DELETE /v1/files/{file_id} removes file and object', async () => {
      const before = await storedKeys(service);
      const file = await uploaded();
      const { status, body } = await service.api('DELETE', `/v1/files/${file.id}`);
      expect([status, body]).to.deep.equal([204, null]);
      expect(await storedKeys(service)).to.deep.equal(before);
      const path = `/v1/files/${file.id}`;
      for (const [method, at] of [
        ['GET', path],
        ['GET', `${path}/content`],
        ['DELETE', path],
      ] as const) {
        const { error } = (await service.api(method, at)).body;
        expect(error).to.deep.include({ type: 'file_not_found', details: { file_ids: [file.id] } });
      }
      expect((await service.api('GET', '/v1/files')).body.items.map(({ id }: FileBody) => id)).not.to.include(file.id);
    });
  });

  describe('while the storage is away', () => {
    let broken: TestService;
    before(async () => {
      // A file where a folder must be: no right of the user who runs the tests gets past that.
      broken = await startService({ config: { storageUrl: 'file:///dev/null/files' } });
    });
    after(() => broken.close());

    it('an upload is a storage_error that may be tried again', async () => {
      const { status, body, headers } = await upload(broken, 'a.txt', 'x', { 'Idempotency-Key': 'k' });
      expect([status, body.error.type]).to.deep.equal([502, 'storage_error']);
      expect(headers.get('x-should-retry')).to.equal('true');
      expect((await broken.api('GET', '/v1/files')).body.items).to.deep.equal([]);
      expect((await upload(broken, 'a.txt', 'x', { 'Idempotency-Key': 'k' })).status).to.equal(502);
    });
  });
});

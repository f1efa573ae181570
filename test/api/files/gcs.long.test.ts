import { expect } from 'chai';
import { cleanStorage } from '../../../src/files/maintenance.js';
import { openGcsStorage } from '../../../src/files/gcs.js';
import { ObjectMissingError, type Storage } from '../../../src/files/storage.js';
import { emulatorMissing, startGcsEmulator, type GcsEmulator } from '../../support/gcs-emulator.js';
import { startService, type TestService } from '../../support/service.js';
import { skip } from '../../support/skip.js';
import { postStream, streamedFile, upload, type FileBody } from '../../support/upload.js';

describe('files in Google Cloud Storage', function () {
  let gcs: GcsEmulator | undefined;
  let service: TestService | undefined;
  let storage: Storage;
  let api: TestService['api'];

  before(async function () {
    const reason = emulatorMissing();
    if (reason !== null) skip(this, reason);
    gcs = await startGcsEmulator();
    const storageUrl = `gs://${gcs.bucket}/some/prefix`;
    service = await startService({ config: { storageUrl } });
    storage = await openGcsStorage(storageUrl);
    api = service.api;
  });
  after(async () => {
    await service?.close();
    await gcs?.stop();
  });

  const uploaded = async (name: string, content: string): Promise<FileBody> =>
    (await upload(service!, name, content)).body as FileBody;

  it('files in Google Cloud Storage come back through a signed link under their name', async () => {
    const file = await uploaded('Prüfung.txt', 'content');
    expect((await api('GET', '/v1/files')).body.items).to.deep.equal([file]);
    const { status, headers } = await api('GET', `/v1/files/${file.id}/content`);
    expect(status).to.equal(307);
    const url = new URL(headers.get('location')!);
    expect(url.origin).to.equal(gcs!.url);
    expect(url.searchParams.get('response-content-disposition')).to.equal(
      `attachment; filename="Pr_fung.txt"; filename*=UTF-8''Pr%C3%BCfung.txt`,
    );
    const response = await fetch(url);
    expect([response.status, await response.text()]).to.deep.equal([200, 'content']);
    expect(response.headers.get('content-type')).to.match(/^text\/plain/);
  });

  it('files in Google Cloud Storage may be empty', async () => {
    const file = await uploaded('empty.txt', '');
    const { headers } = await api('GET', `/v1/files/${file.id}/content`);
    expect(await (await fetch(headers.get('location')!)).text()).to.equal('');
  });

  it('files in Google Cloud Storage may have 20 MiB, sent in chunks', async () => {
    const size = 20 * 1024 * 1024 + 1;
    const { body } = await postStream(service!, streamedFile(size));
    expect((body as FileBody).size_bytes).to.equal(size);
    const { headers } = await api('GET', `/v1/files/${(body as FileBody).id}/content`);
    const bytes = Buffer.from(await (await fetch(headers.get('location')!)).arrayBuffer());
    expect([bytes.length, bytes.toString('latin1', 0, 6)]).to.deep.equal([size, 'abcabc']);
  });

  it('files in Google Cloud Storage are removed with their object', async () => {
    const before = await gcs!.names();
    const file = await uploaded('a.txt', 'x');
    expect(await gcs!.names()).to.have.length(before.length + 1);
    expect((await api('DELETE', `/v1/files/${file.id}`)).status).to.equal(204);
    expect(await gcs!.names()).to.deep.equal(before);
  });

  it('files in Google Cloud Storage obey the interface: parts, order, replacing, missing objects', async () => {
    const type = { contentType: 'text/plain' };
    for (const name of ['b', 'a', 'a', 'c']) await storage.put(`skills/p/${name}`, Buffer.from('0123456789'), type);
    const keys: string[] = [];
    for await (const { key, size, createdAt } of storage.list('skills/', 'skills/p/a')) {
      keys.push(key);
      expect([size, Math.abs(Date.now() - createdAt.getTime()) < 60_000]).to.deep.equal([10, true]);
    }
    expect(keys).to.deep.equal(['skills/p/b', 'skills/p/c']);
    expect((await storage.read('skills/p/a', 4, 3)).toString()).to.equal('3456');
    expect((await storage.read('skills/p/a', 100)).toString()).to.equal('0123456789');
    expect((await storage.read('skills/p/a', 4, 10)).length).to.equal(0);
    const part = await storage.open('skills/p/a', { start: 8 });
    expect(Buffer.concat(await part.toArray()).toString()).to.equal('89');
    await storage.delete('skills/p/a');
    await storage.delete('skills/p/a');
    for (const ask of [
      () => storage.read('skills/p/a', 1),
      () => storage.open('skills/p/a'),
      () => storage.size('skills/p/a'),
    ]) {
      const error = await ask().catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(ObjectMissingError);
    }
    await storage.check();
  });

  it('files in Google Cloud Storage are not taken for lost where the whole bucket is missing', async () => {
    const absent = await openGcsStorage('gs://no-such-bucket/prefix');
    const error: unknown = await absent.size('files/p/a').catch((thrown: unknown) => thrown);
    expect(error).to.have.property('type', 'storage_error');
  });

  it('files in Google Cloud Storage are cleaned by maintenance', async () => {
    await storage.put('files/p/orphan', Buffer.from('x'), { contentType: 'text/plain' });
    const { removedObjects, removedRows } = await cleanStorage(service!.db, storage, {
      olderThanSeconds: -60,
      limit: 1000,
    });
    expect(removedObjects).to.be.greaterThan(0);
    expect(removedRows).to.equal(0);
    await storage.size('files/p/orphan').then(
      () => expect.fail('the orphan is still there'),
      () => undefined,
    );
  });

  it('files in Google Cloud Storage wait for a storage that is away, then fail with storage_error; a deletion is finished later', async function () {
    this.timeout(120_000);
    const file = await uploaded('a.txt', 'x');
    await gcs!.kill();
    const [refused, deleted] = await Promise.all([
      upload(service!, 'b.txt', 'x'),
      api('DELETE', `/v1/files/${file.id}`),
    ]);
    expect([refused.status, refused.body.error.type]).to.deep.equal([502, 'storage_error']);
    expect(deleted.status).to.equal(204);
    expect((await api('GET', `/v1/files/${file.id}`)).status).to.equal(404);
    await gcs!.restart();
    const { finishedDeletions } = await cleanStorage(service!.db, storage, { olderThanSeconds: 3600, limit: 1000 });
    expect(finishedDeletions).to.equal(1);
  });
});

import { expect } from 'chai';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ApiResponse } from '../../support/client.js';
import { startService } from '../../support/service.js';
import { upload } from '../../support/upload.js';
import { useService } from '../../support/use.js';

describe('download links when something is away', () => {
  let fileId: string;
  /** The path and query of a link to the file. */
  let link: string;
  const service = useService();
  before(async () => {
    fileId = (await upload(service, 'a.txt', 'content')).body.id as string;
    const { headers } = await service.api('GET', `/v1/files/${fileId}/content`);
    link = headers.get('location')!.slice(service.url.length);
  });

  const follow = (path = link): Promise<ApiResponse> => service.as(null)('GET', path);
  const shown = ({ status, body }: ApiResponse): string => `${status} ${body.error?.type ?? body}`;

  it('download links when something is away lead to the content, without a key, as they are', async () => {
    expect(shown(await follow())).to.equal('200 content');
    expect(shown(await follow(`${link}x`))).to.equal('403 invalid_link');
    expect(shown(await follow(link.replace(/expires=\d+/, 'expires=%00')))).to.equal('422 validation_error');
  });

  it('download links when something is away are given as JSON to those who cannot read a redirect', async () => {
    const { status, body } = await service.api('GET', `/v1/files/${fileId}/link`);
    expect(status).to.equal(200);
    expect(shown(await follow((body.url as string).slice(service.url.length)))).to.equal('200 content');
    expect(shown(await service.api('GET', '/v1/files/file_none/link'))).to.equal('404 file_not_found');
  });

  it('download links when something is away are a storage_error while the storage cannot read, then work again', async () => {
    const folder = fileURLToPath(new URL(`${service.config.storageUrl}/`));
    const [file] = await service.db.query<[{ storage_key: string }]>('SELECT storage_key FROM files');
    const path = join(folder, file.storage_key);
    rmSync(path);
    // A link to itself: no right of the user who runs the tests gets past that.
    symlinkSync(path, path);
    const away = await follow();
    expect(shown(away)).to.equal('502 storage_error');
    expect(away.headers.get('x-should-retry')).to.equal('true');
    rmSync(path);
    expect(shown(await follow())).to.equal('404 file_not_found');
    writeFileSync(path, 'content');
    expect(shown(await follow())).to.equal('200 content');
  });

  it('download links when something is away are not created while no key can sign them', async () => {
    const before = process.env.GOOGLE_APPLICATION_CREDENTIALS;
    process.env.GOOGLE_APPLICATION_CREDENTIALS = '/dev/null/nowhere.json';
    const cloud = await startService({ config: { storageUrl: 'gs://bucket' } });
    try {
      await cloud.db.query(
        `INSERT INTO files (id, project_id, filename, mime_type, size_bytes, origin, storage_key)
         SELECT 'file_one', id, 'a.txt', 'text/plain', 7, 'UPLOAD', 'files/p/x' FROM projects`,
      );
      for (const path of ['content', 'link']) {
        expect(shown(await cloud.api('GET', `/v1/files/file_one/${path}`)), path).to.equal('502 storage_error');
      }
    } finally {
      await cloud.close();
      if (before === undefined) delete process.env.GOOGLE_APPLICATION_CREDENTIALS;
      else process.env.GOOGLE_APPLICATION_CREDENTIALS = before;
    }
  });
});

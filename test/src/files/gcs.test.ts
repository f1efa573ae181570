import { expect } from 'chai';
import { createHash, createPublicKey, createVerify } from 'node:crypto';
import { openGcsStorage } from '../../../src/files/gcs.js';
import type { Storage } from '../../../src/files/storage.js';
import { testCredentials } from '../../support/gcs-emulator.js';

/** What the emulator does not check: a V4 link is signed as in Google's documentation of canonical requests. */
describe('links of Google Cloud Storage', () => {
  const credentials = testCredentials();
  let storage: Storage;
  before(async () => {
    storage = await openGcsStorage('gs://bucket/some/prefix', { projectId: 'test', credentials });
  });
  const file = { id: 'file_1', storage_key: 'files/p/a', filename: 'Prüf (1).pdf', mime_type: 'application/pdf' };

  it('links of Google Cloud Storage are valid for an hour, name and type included', async () => {
    const url = new URL(await storage.downloadUrl(file, 3600));
    expect(url.origin + url.pathname).to.equal('https://storage.googleapis.com/bucket/some/prefix/files/p/a');
    const query = Object.fromEntries(url.searchParams);
    expect(query).to.include({
      'X-Goog-Algorithm': 'GOOG4-RSA-SHA256',
      'X-Goog-Expires': '3600',
      'X-Goog-SignedHeaders': 'host',
      'response-content-type': 'application/pdf',
      'response-content-disposition': `attachment; filename="Pr_f (1).pdf"; filename*=UTF-8''Pr%C3%BCf%20%281%29.pdf`,
    });
    const date = query['X-Goog-Date']!;
    expect(query['X-Goog-Credential']).to.equal(
      `${credentials.client_email}/${date.slice(0, 8)}/auto/storage/goog4_request`,
    );
  });

  it('links of Google Cloud Storage are signed over all of it', async () => {
    const url = new URL(await storage.downloadUrl(file, 3600));
    const signature = url.searchParams.get('X-Goog-Signature')!;
    url.searchParams.delete('X-Goog-Signature');
    expect(isSigned(url, signature)).to.equal(true);
    for (const name of url.searchParams.keys()) {
      const altered = new URL(url);
      altered.searchParams.set(name, `${altered.searchParams.get(name)}0`);
      expect(isSigned(altered, signature), name).to.equal(false);
    }
  });

  function isSigned(url: URL, signature: string): boolean {
    const encode = (text: string): string =>
      encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
    const query = [...url.searchParams]
      .map(([name, value]) => `${encode(name)}=${encode(value)}`)
      .sort()
      .join('&');
    const request = ['GET', url.pathname, query, `host:${url.hostname}\n`, 'host', 'UNSIGNED-PAYLOAD'].join('\n');
    const date = url.searchParams.get('X-Goog-Date')!;
    const scope = `${date.slice(0, 8)}/auto/storage/goog4_request`;
    const hash = createHash('sha256').update(request).digest('hex');
    return createVerify('RSA-SHA256')
      .update(['GOOG4-RSA-SHA256', date, scope, hash].join('\n'))
      .verify(createPublicKey(credentials.private_key), Buffer.from(signature, 'hex'));
  }
});

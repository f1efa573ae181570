import { expect } from 'chai';
import { openStorage } from '../../../src/files/open-storage.js';
import type { ApiResponse } from '../../support/client.js';
import { startService, type TestService } from '../../support/service.js';
import { skillMd, zip } from '../../src/skills/zip.js';

function form(content: Buffer | string, filename: string): FormData {
  const data = new FormData();
  data.set('file', new Blob([new Uint8Array(Buffer.from(content))]), filename);
  return data;
}

describe('/v1/skills', () => {
  let service: TestService;
  const upload = (content: Buffer | string, filename = 'demo.zip', headers = {}): Promise<ApiResponse> =>
    service.api('POST', '/v1/skills', form(content, filename), headers);
  const objects = async (): Promise<string[]> => {
    const keys: string[] = [];
    for await (const { key } of openStorage(service.config).list('skills/')) keys.push(key);
    return keys;
  };

  beforeEach(async () => {
    service = await startService();
  });
  afterEach(() => service.close());

  it('uploads a package, gets, lists and deletes it', async () => {
    const created = await upload(zip([{ name: 'x/SKILL.md', content: skillMd('x', 'About x.') }]), 'x.skill');
    expect(created.status).to.equal(201);
    expect(created.body).to.have.all.keys('id', 'name', 'description', 'size_bytes', 'created_at');
    expect(created.body).to.include({ name: 'x', description: 'About x.' });
    expect(created.body.id).to.match(/^skill_[0-9a-z]{26}$/);
    expect(created.body.created_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(created.body.size_bytes).to.equal(22 + 76 + 2 * 8 + skillMd('x', 'About x.').length);

    const path = `/v1/skills/${created.body.id}`;
    expect((await service.api('GET', path)).body).to.deep.equal(created.body);
    expect((await service.api('GET', '/v1/skills')).body).to.deep.equal({
      items: [created.body],
      meta: { next_cursor: null },
    });

    const deleted = await service.api('DELETE', path);
    expect(deleted).to.include({ status: 204, body: null });
    for (const method of ['GET', 'DELETE']) {
      const again = await service.api(method, path);
      expect(again.status).to.equal(404);
      expect(again.body.error.type).to.equal('skill_not_found');
    }
    expect((await service.api('GET', '/v1/skills')).body.items).to.deep.equal([]);
    expect(await objects()).to.deep.equal([]);
  });
});

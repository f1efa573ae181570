import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ApiCall, ApiResponse } from '../../support/client.js';
import { startService } from '../../support/service.js';
import { skillMd, zip } from '../../src/skills/zip.js';
import { allItems } from '../../support/pages.js';
import { reachedLimit } from '../../support/rows.js';
import { storedKeys } from '../../support/storage.js';
import { useTempFolder } from '../../support/temp-folder.js';
import { useService } from '../../support/use.js';

const MIB = 1024 * 1024;

function form(content: Buffer | string, filename: string): FormData {
  const data = new FormData();
  data.set('file', new Blob([new Uint8Array(Buffer.from(content))]), filename);
  return data;
}

const skill = (name: string, more: { name: string; content: string }[] = []): Buffer =>
  zip([{ name: `${name}/SKILL.md`, content: skillMd(name, `About ${name}.`) }, ...more]);

describe('/v1/skills', () => {
  const temp = useTempFolder();
  const service = useService();

  const upload = (
    content: Buffer | string,
    {
      filename = 'demo.zip',
      headers = {},
      api = service.api,
    }: { filename?: string; headers?: object; api?: ApiCall } = {},
  ): Promise<ApiResponse> => api('POST', '/v1/skills', form(content, filename), headers as Record<string, string>);

  const objects = (): Promise<string[]> => storedKeys(service, 'skills/');

  const refused = (answer: ApiResponse, status: number, type: string): { details?: unknown } => {
    expect(answer.body).to.have.nested.property('error.type', type);
    expect(answer.status).to.equal(status);
    return answer.body.error as { details?: unknown };
  };

  it('/v1/skills uploads, gets, lists and deletes a skill', async () => {
    const created = await upload(skill('first'), { filename: 'first.skill' });
    expect(created.status).to.equal(201);
    expect(created.body).to.have.all.keys('id', 'name', 'description', 'size_bytes', 'created_at');
    expect(created.body).to.include({ name: 'first', description: 'About first.' });
    expect(created.body.id).to.match(/^skill_[0-9a-z]{26}$/);
    expect(created.body.created_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(created.body.size_bytes).to.equal(22 + 76 + 2 * 8 + skillMd('first', 'About first.').length);
    const [key] = await objects();
    expect(key).to.match(new RegExp(`^skills/proj_[0-9a-z]{26}/${created.body.id}$`));

    const path = `/v1/skills/${created.body.id}`;
    expect((await service.api('GET', path)).body).to.deep.equal(created.body);
    expect((await service.api('GET', '/v1/skills')).body).to.deep.equal({
      items: [created.body],
      meta: { next_cursor: null },
    });

    expect(await service.api('DELETE', path)).to.include({ status: 204, body: null });
    for (const method of ['GET', 'DELETE']) refused(await service.api(method, path), 404, 'skill_not_found');
    expect((await service.api('GET', '/v1/skills')).body.items).to.deep.equal([]);
    expect(await objects()).to.deep.equal([]);
    expect(temp.names()).to.deep.equal([]);
  });

  it('/v1/skills lists the files of a skill and reads each of them', async () => {
    const logo = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255]);
    const entries = {
      'SKILL.md': skillMd('read', 'About read.'),
      'docs/é.txt': 'one\n',
      'empty.txt': '',
      'logo.png': logo,
    };
    const { body } = await upload(zip(Object.entries(entries).map(([name, content]) => ({ name, content }))));
    const path = `/v1/skills/${body.id}`;
    const files = (await service.api('GET', `${path}/files`)).body.items as { path: string; size_bytes: number }[];
    const sizes = Object.entries(entries).map(([name, content]) => [name, Buffer.byteLength(content)]);
    expect(files.map((file) => [file.path, file.size_bytes])).to.deep.equal(sizes);
    expect(await allItems(service.api, `${path}/files?limit=1`)).to.deep.equal(files);
    for (const [name, content] of Object.entries(entries)) {
      const answer = await fetch(`${service.url}${path}/content?path=${encodeURIComponent(name)}`, {
        headers: { Authorization: `Bearer ${service.key}` },
      });
      expect(answer.status).to.equal(200);
      expect(Buffer.from(await answer.arrayBuffer())).to.deep.equal(Buffer.from(content));
      expect(answer.headers.get('content-security-policy')).to.contain('sandbox');
      if (name === 'logo.png') expect(answer.headers.get('content-type')).to.equal('image/png');
    }
    for (const wrong of ['docs', '/SKILL.md', '../SKILL.md', 'none'])
      refused(await service.api('GET', `${path}/content?path=${encodeURIComponent(wrong)}`), 404, 'not_found');
    refused(await service.api('GET', `${path}/content`), 422, 'validation_error');
  });

  it('/v1/skills reports that the files of a skill are lost', async () => {
    const { body } = await upload(skill('lost'));
    const [key] = (await objects()).filter((one) => one.endsWith(body.id as string));
    await rm(join(fileURLToPath(service.config.storageUrl), key!));
    refused(await service.api('GET', `/v1/skills/${body.id}/files`), 502, 'storage_error');
    refused(await service.api('GET', `/v1/skills/${body.id}/content?path=SKILL.md`), 502, 'storage_error');
  });

  it('/v1/skills takes a single SKILL.md', async () => {
    const created = await upload(skillMd('single'), { filename: 'SKILL.md' });
    expect(created).to.include({ status: 201 });
    expect(created.body.name).to.equal('single');
  });

  it('/v1/skills refuses a name that is taken until its skill is deleted', async () => {
    const first = await upload(skill('taken'));
    const second = await upload(skill('taken', [{ name: 'taken/other', content: 'x' }]));
    refused(second, 409, 'skill_name_taken');
    expect(second.headers.get('x-should-retry')).to.equal('false');
    await service.api('DELETE', `/v1/skills/${first.body.id}`);
    const third = await upload(skill('taken'));
    expect(third.status).to.equal(201);
    expect(third.body.id).not.to.equal(first.body.id);
    expect(third.body.size_bytes).to.equal(first.body.size_bytes);
  });

  it('/v1/skills lets one of many parallel uploads of a name through, and keeps no object of the others', async () => {
    const before = await objects();
    const answers = await Promise.all(Array.from({ length: 12 }, () => upload(skill('race'))));
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, ...Array<number>(11).fill(409)]);
    expect(await objects()).to.have.length(before.length + 1);
  });

  it('/v1/skills leaves a name to other projects', async () => {
    const other = service.as(await service.newKey({ project: 'other' }));
    expect((await upload(skill('shared-name'))).status).to.equal(201);
    expect((await upload(skill('shared-name'), { api: other })).status).to.equal(201);
  });

  it('/v1/skills refuses packages that keep no rule', async () => {
    const before = await objects();
    refused(await upload('# no frontmatter', { filename: 'SKILL.md' }), 422, 'invalid_skill_bundle');
    refused(await upload(skill('unsafe', [{ name: '../x', content: 'x' }])), 422, 'invalid_skill_bundle');
    expect(await objects()).to.deep.equal(before);
    expect(temp.names()).to.deep.equal([]);
  });

  it('/v1/skills refuses packages that are too large', async () => {
    const packed = refused(await upload(Buffer.alloc(50 * MIB + 1)), 413, 'skill_bundle_too_large');
    expect(packed.details).to.deep.equal({ max_bytes: 50 * MIB });
    refused(await upload(Buffer.alloc(50 * MIB)), 422, 'invalid_skill_bundle');
    reachedLimit('skill package: 50 MiB');
  });

  it('/v1/skills reports that the storage is away, and creates no skill', async () => {
    const blocked = await startService({ config: { storageUrl: 'file:///dev/null/nowhere' } });
    try {
      const answer = await upload(skill('stored'), { api: blocked.api });
      refused(answer, 502, 'storage_error');
      expect(answer.headers.get('x-should-retry')).to.equal('true');
      expect((await blocked.api('GET', '/v1/skills')).body.items).to.deep.equal([]);
    } finally {
      await blocked.close();
    }
  });

  it('/v1/skills deletes a skill whose object cannot be removed now', async () => {
    const created = await upload(skill('stuck'));
    const [object] = (await objects()).filter((key) => key.endsWith(created.body.id));
    const row = `UPDATE skills SET storage_key = $2 WHERE id = $1`;
    const blocker = join(fileURLToPath(service.config.storageUrl), 'blocker');
    writeFileSync(blocker, '');
    await service.db.query(row, [created.body.id, 'blocker/x']);
    expect((await service.api('DELETE', `/v1/skills/${created.body.id}`)).status).to.equal(204);
    expect(await objects()).to.include(object);
    expect((await upload(skill('stuck'))).status).to.equal(201);
  });
});

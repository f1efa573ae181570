import { expect } from 'chai';
import type { Database } from '../../../src/db/db.js';
import { cleanStorage } from '../../../src/files/maintenance.js';
import { openStorage } from '../../../src/files/open-storage.js';
import { loadConfig } from '../../../src/platform/config.js';
import type { ApiResponse } from '../../support/client.js';
import { reachedLimit } from '../../support/rows.js';
import { startService } from '../../support/service.js';
import { storedKeys } from '../../support/storage.js';
import { filePart, MULTIPART, multipartBody } from '../../support/upload.js';
import { zip } from '../../src/skills/zip.js';
import { useService } from '../../support/use.js';

const MAX_BYTES = 100_000;

describe('the storage of a project (decisions.md "Limits of work")', () => {
  const service = useService({ config: { maxStoragePerProject: MAX_BYTES } });

  /** The calls of a project of its own. */
  const projectOf = async (project: string) => {
    const api = service.as(await service.newKey({ project }));
    const body = (name: string, content: Buffer): Buffer => multipartBody([filePart(name, content)]);
    return {
      api,
      file: (bytes: number, headers = {}): Promise<ApiResponse> =>
        api('POST', '/v1/files', body('a.bin', Buffer.alloc(bytes)), { ...MULTIPART, ...headers }),
      skill: (content: Buffer): Promise<ApiResponse> => api('POST', '/v1/skills', body('a.skill', content), MULTIPART),
      stored: () => storedBytes(service.db, project),
    };
  };
  const shown = ({ status, body }: ApiResponse): string => `${status} ${body?.error?.type ?? ''}`.trim();
  const REFUSED = '413 storage_limit_reached';

  it('the storage of a project is 20 GiB unless set, and unlimited with 0', async () => {
    const settings = { DATABASE_URL: service.config.databaseUrl, ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') };
    expect(loadConfig(settings).maxStoragePerProject).to.equal(21_474_836_480);
    expect(loadConfig({ ...settings, MAX_STORAGE_PER_PROJECT: '0' }).maxStoragePerProject).to.equal(0);
    const unlimited = await startService({ config: { maxStoragePerProject: 0 } });
    const answer = await unlimited.api('POST', '/v1/files', multipartBody([filePart('a', 'abc')]), MULTIPART);
    await unlimited.close();
    expect(answer.status).to.equal(201);
  });

  it('the storage of a project takes files up to its limit, and no byte more', async () => {
    const { file, stored } = await projectOf('files');
    expect(shown(await file(MAX_BYTES))).to.equal('201');
    const answer = await file(1);
    expect(shown(answer)).to.equal(REFUSED);
    expect(answer.body.error.details).to.deep.equal({ max_bytes: MAX_BYTES });
    expect(shown(await file(0))).to.equal('201');
    expect(await stored()).to.deep.equal({ counted: MAX_BYTES, summed: MAX_BYTES });
    reachedLimit('storage of a project: 20 GiB');
  });

  it('the storage of a project is of the project alone', async () => {
    const { file } = await projectOf('neighbour');
    expect(shown(await file(MAX_BYTES))).to.equal('201');
  });

  it('the storage of a project counts skills as they are unpacked', async () => {
    const { skill, stored } = await projectOf('skills');
    const bomb = (bytes: number, name: string): Buffer =>
      zip([
        { name: 'SKILL.md', content: `---\nname: ${name}\n---\n` },
        { name: 'zeros', content: Buffer.alloc(bytes) },
      ]);
    expect(bomb(90_000, 'one').length).to.be.lessThan(1000);
    const { status, body } = await skill(bomb(90_000, 'one'));
    expect(status).to.equal(201);
    expect(body.size_bytes).to.be.greaterThan(90_000);
    expect(shown(await skill(bomb(90_000, 'two')))).to.equal(REFUSED);
    expect(await stored()).to.deep.equal({ counted: body.size_bytes, summed: body.size_bytes });
  });

  it('the storage of a project is exact when uploads arrive in parallel', async () => {
    const { file, stored } = await projectOf('parallel');
    const answers = await Promise.all(Array.from({ length: 16 }, () => file(10_000)));
    const taken = answers.filter(({ status }) => status === 201);
    expect(taken).to.have.length(10);
    expect(new Set(answers.map(shown))).to.deep.equal(new Set(['201', REFUSED]));
    expect(await stored()).to.deep.equal({ counted: MAX_BYTES, summed: MAX_BYTES });
  });

  it('the storage of a project gets back what is deleted, once', async () => {
    const { api, file, skill, stored } = await projectOf('deleting');
    const { id } = (await file(MAX_BYTES)).body as { id: string };
    expect(shown(await file(1))).to.equal(REFUSED);
    const deletions = await Promise.all([1, 2, 3].map(() => api('DELETE', `/v1/files/${id}`)));
    expect(deletions.map(({ status }) => status).sort()).to.deep.equal([204, 404, 404]);
    expect(await stored()).to.deep.equal({ counted: 0, summed: 0 });
    const { body } = await skill(zip([{ name: 'SKILL.md', content: '---\nname: a\n---\n' }]));
    expect((await api('DELETE', `/v1/skills/${body.id}`)).status).to.equal(204);
    expect(shown(await file(MAX_BYTES))).to.equal('201');
  });

  it('the storage of a project gets back files whose object is lost', async () => {
    const { file, stored } = await projectOf('lost');
    const { id } = (await file(MAX_BYTES)).body as { id: string };
    const storage = await openStorage(service.config);
    const [row] = await service.db.query<{ storage_key: string }[]>('SELECT storage_key FROM files WHERE id = $1', [
      id,
    ]);
    await storage.delete(row!.storage_key);
    await cleanStorage(service.db, storage, { olderThanSeconds: 0, limit: 1000, removeMissing: true });
    expect(await stored()).to.deep.equal({ counted: 0, summed: 0 });
  });

  it('the storage of a project keeps a repeated upload', async () => {
    const { file } = await projectOf('repeating');
    const key = { 'Idempotency-Key': 'once' };
    const first = await file(MAX_BYTES, key);
    const again = await file(MAX_BYTES, key);
    expect([first.status, again.status, again.body]).to.deep.equal([201, 201, first.body]);
  });

  it('the storage of a project leaves no object of what it refuses', async () => {
    const before = await storedKeys(service);
    const { file } = await projectOf('refused');
    expect(shown(await file(MAX_BYTES + 1))).to.equal(REFUSED);
    expect(await storedKeys(service)).to.deep.equal(before);
  });
});

/** The project's sum, and what its rows come to. */
async function storedBytes(db: Database, project: string): Promise<{ counted: number; summed: number }> {
  const [row] = await db.query<[{ counted: number; summed: number }]>(
    `SELECT coalesce((SELECT bytes FROM project_storage WHERE project_id = p.id), 0) AS counted,
       (SELECT coalesce(sum(size_bytes), 0)::bigint FROM (
          SELECT size_bytes FROM files WHERE project_id = p.id AND deleted_at IS NULL
          UNION ALL SELECT size_bytes FROM skills WHERE project_id = p.id AND deleted_at IS NULL) AS rows) AS summed
     FROM projects p WHERE name = $1`,
    [project],
  );
  return row;
}

import { expect } from 'chai';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { placeholders } from '../../dev/scripts/placeholders.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ADDRESS = /https:\/\/github\.com\/[\w.-]+\/[\w.-]+/g;

describe('a release of the clients', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'placeholders-'));
  });
  after(() => rm(folder, { recursive: true }));

  /** The manifests as they are, with another repository. */
  const write = async (path: string, repository: string): Promise<void> => {
    const text = await readFile(join(ROOT, path), 'utf8');
    expect(text).to.match(ADDRESS);
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), text.replaceAll(ADDRESS, repository));
  };

  it('a release of the clients names each manifest whose repository is a placeholder, and no other', async () => {
    const placeholder = 'https://github.com/agent-session-service/agent-session-service';
    await write('client/package.json', placeholder);
    await write('python/pyproject.toml', placeholder);
    const [npm, python, ...more] = placeholders(folder);
    expect(npm).to.match(/^client\/package\.json .*`repository` and `homepage`/);
    expect(python).to.match(/^python\/pyproject\.toml .*\[project\.urls\]/);
    expect(more).to.deep.equal([]);
    await write('client/package.json', 'https://github.com/example/agents');
    expect(placeholders(folder)).to.deep.equal([python]);
    await write('python/pyproject.toml', 'https://github.com/example/agents');
    expect(placeholders(folder)).to.deep.equal([]);
  });
});

import { expect } from 'chai';
import { builtInTools } from '../../../../activities/tools/built-in/source.js';
import type { SelectedSkill, ToolDeps, ToolResult } from '../../../../activities/tools/tool.js';
import { openStorage } from '../../../../src/files/open-storage.js';
import type { Storage } from '../../../../src/files/storage.js';
import { createLogger } from '../../../../src/platform/logger.js';
import { skillMd, zip } from '../../../src/skills/zip.js';
import type { ResultBlock } from '../../../../src/models/content.js';
import { useService } from '../../../support/use.js';

const TURN_ID = 'turn_01hzzzzzzzzzzzzzzzzzzzzzzz';
/** 1 × 1, transparent. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);
const FILES = {
  'SKILL.md': `\uFEFF${skillMd('demo', 'Shows how.', '# Demo\r\n\r\nRead `docs/long.txt`.\r\n')}`,
  'docs/long.txt': Array.from({ length: 5000 }, (_, index) => `line ${index}\n`).join(''),
  'docs/Größe.md': '# ü\r\nzwei\r\n',
  'empty.txt': '',
  'logo.png': PNG,
  'fake.png': 'no image at all',
  'huge.png': Buffer.concat([PNG, Buffer.alloc(5 * 1024 * 1024)]),
  'data.bin': Buffer.from([0, 1, 2, 3]),
  'latin1.txt': Buffer.from([0x47, 0xf6]),
  'logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
};

describe('skill tools', () => {
  let deps: ToolDeps;
  let storage: Storage;
  let selected: SelectedSkill;
  let projectId: string;

  async function upload(name: string, files: Record<string, string | Buffer>): Promise<SelectedSkill> {
    const form = new FormData();
    const archive = zip(Object.entries(files).map(([path, content]) => ({ name: `${name}/${path}`, content })));
    form.set('file', new Blob([new Uint8Array(archive)]), 'demo.zip');
    const { body } = await service.api('POST', '/v1/skills', form);
    return { id: body.id, name: body.name, description: body.description };
  }

  const service = useService();
  before(async () => {
    storage = await openStorage(service.config);
    const log = createLogger('silent', 'test');
    deps = { config: service.config, db: service.db, log, storage } as unknown as ToolDeps;
    selected = await upload('demo', FILES);
    [{ id: projectId }] = await service.db.query('SELECT id FROM projects');
  });

  function run(tool: string, input: Record<string, unknown>, skills = [selected]): Promise<ToolResult> {
    const turn = {
      id: TURN_ID,
      sessionId: 'ses_1',
      projectId,
      number: 1,
      skills,
      workspace: null,
      parentSessionId: null,
    };
    const call = { turn, name: tool, toolUseId: 'toolu_01AbC', idempotencyKey: 'k', input };
    const found = builtInTools({ skills: [selected], workspace: null }).find(({ name }) => name === tool)!;
    return found.run({ ...call, signal: AbortSignal.timeout(5000), progress: () => undefined }, deps);
  }
  const textOf = ({ content }: ToolResult): string => (content[0] as Extract<ResultBlock, { type: 'text' }>).text;
  const read = async (path: string, window: { offset?: number; limit?: number } = {}): Promise<string> => {
    const result = await run('read_skill_file', { skill: 'demo', path, ...window });
    expect(result.isError).to.equal(false);
    return textOf(result);
  };

  it('skill tools are there only where skills are selected', () => {
    const names = (skills: SelectedSkill[]): string[] =>
      builtInTools({ skills, workspace: null }).map(({ name }) => name);
    expect(names([selected])).to.include.members(['use_skill', 'read_skill_file']);
    expect(names([])).not.to.include.members(['use_skill', 'read_skill_file']);
  });

  describe('use_skill', () => {
    it('use_skill gives the instructions without the frontmatter, and the files with their sizes', async () => {
      const result = await run('use_skill', { name: 'demo' });
      expect(result.isError).to.equal(false);
      const text = textOf(result);
      expect(text).to.match(/^Skill "demo"\n\n# Demo\r\n\r\nRead `docs\/long.txt`.\n/);
      expect(text).not.to.include('description:');
      expect(text).to.include(`- docs/long.txt (${FILES['docs/long.txt'].length} bytes)\n`);
      expect(text).to.include('- empty.txt (0 bytes)\n').and.to.include('- docs/Größe.md (');
      expect(text).not.to.include('- SKILL.md');
    });

    it('use_skill names no files where there are none', async () => {
      const single = await upload('single', { 'SKILL.md': skillMd('single') });
      expect(textOf(await run('use_skill', { name: 'single' }, [single]))).to.equal('Skill "single"\n\nDo it.');
    });

    it('use_skill cuts a list of very long paths', async () => {
      const files = Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`${'d'.repeat(200)}/${i}`, 'x']));
      const many = await upload('many', { 'SKILL.md': skillMd('many'), ...files });
      const text = textOf(await run('use_skill', { name: 'many' }, [many]));
      expect(text).to.match(/- … and \d+ more; read_skill_file with the path of a folder lists that folder$/);
      expect(Buffer.byteLength(text)).to.be.below(48 * 1024);
    });

    it('use_skill lists the selected skills if the name is not one of them', async () => {
      const result = await run('use_skill', { name: 'other' });
      expect(result.isError).to.equal(true);
      expect(textOf(result)).to.equal('There is no skill "other" in this turn. Selected skills: demo.');
      expect(textOf(await run('use_skill', { name: 'demo' }, []))).to.match(/No skills were selected/);
    });

    it("use_skill cannot load a skill that is deleted, nor another project's", async () => {
      const gone = await upload('gone', { 'SKILL.md': skillMd('gone'), 'a.txt': 'x' });
      await service.api('DELETE', `/v1/skills/${gone.id}`);
      for (const result of [
        await run('use_skill', { name: 'gone' }, [gone]),
        await run('read_skill_file', { skill: 'gone', path: 'a.txt' }, [gone]),
      ]) {
        expect(result.isError).to.equal(true);
        expect(textOf(result)).to.match(/^cannot load skill "gone"/);
      }
    });

    it('use_skill cannot load a skill whose object was deleted after its row was read', async () => {
      const lost = await upload('lost', { 'SKILL.md': skillMd('lost') });
      await storage.delete(`skills/${projectId}/${lost.id}`);
      const result = await run('use_skill', { name: 'lost' }, [lost]);
      expect(result.isError).to.equal(true);
      expect(textOf(result)).to.match(/^cannot load skill "lost"/);
    });
  });

  describe('read_skill_file', () => {
    it('read_skill_file reads text whole where it fits a page', async () => {
      expect(await read('docs/Größe.md')).to.equal('# ü\r\nzwei\r');
      expect(await read('docs/Größe.md'.normalize('NFD'))).to.equal('# ü\r\nzwei\r');
      expect(await read('./SKILL.md')).to.match(/^---\nname: demo/);
      expect(await read('logo.svg')).to.match(/^<svg/);
      expect(await read('latin1.txt')).to.equal('Gö');
      expect(await read('empty.txt')).to.equal('(The file is empty.)');
    });

    it('read_skill_file pages through long text by lines', async () => {
      expect(await read('docs/long.txt', { offset: 10, limit: 2 })).to.equal(
        'line 10\nline 11\n\n[Lines 10 to 11 are shown; read on with offset 12.]',
      );
      const beyond = await run('read_skill_file', { skill: 'demo', path: 'docs/long.txt', offset: 5000 });
      expect(beyond.isError).to.equal(true);
      expect(textOf(beyond)).to.match(/has 5000 lines; there is no line 5000/);
    });

    it('read_skill_file lists a folder', async () => {
      expect(await read('docs')).to.match(/^Files in docs:\n- docs\/Größe.md \(12 bytes\)\n- docs\/long.txt/);
    });

    it('read_skill_file shows an image as one, by reference, and again at the same place', async () => {
      const result = await run('read_skill_file', { skill: 'demo', path: 'logo.png' });
      const [text, image] = result.content as [ResultBlock, Extract<ResultBlock, { type: 'image' }>];
      expect(text).to.deep.equal({ type: 'text', text: `logo.png (image/png, ${PNG.length} bytes)` });
      expect(image).to.include({ type: 'image', media_type: 'image/png' });
      expect(image.storage_key).to.match(new RegExp(`^results/${TURN_ID}/`));
      expect((await storage.read(image.storage_key, 1000)).equals(PNG)).to.equal(true);
      expect(await run('read_skill_file', { skill: 'demo', path: 'logo.png' })).to.deep.equal(result);
    });

    it('read_skill_file describes files that are neither text nor a supported image', async () => {
      expect(await read('data.bin')).to.match(/^data.bin cannot be shown: .*application\/octet-stream, 4 bytes/);
      expect(await read('huge.png')).to.match(/^huge.png cannot be shown: .*image\/png, \d+ bytes/);
      expect(await read('fake.png')).to.equal('no image at all');
    });

    for (const [path, message] of [
      ['../SKILL.md', /"..\/SKILL.md" is unsafe: it contains ".."/],
      ['/etc/passwd', /is absolute/],
      ['C:\\x', /backslash/],
      ['a\0b', /NUL/],
      ['missing.txt', /has no file "missing.txt". Its files:\n- SKILL.md/],
      ['', /is unsafe/],
    ] as [string, RegExp][]) {
      it(`read_skill_file refuses the path ${JSON.stringify(path)}`, async () => {
        const result = await run('read_skill_file', { skill: 'demo', path });
        expect(result.isError).to.equal(true);
        expect(textOf(result)).to.match(message);
      });
    }

    it('read_skill_file reads no skill that was not selected', async () => {
      const result = await run('read_skill_file', { skill: 'other', path: 'SKILL.md' });
      expect(result.isError).to.equal(true);
      expect(textOf(result)).to.match(/Selected skills: demo/);
    });
  });
});

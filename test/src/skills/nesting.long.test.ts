import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';
import { useFaultSystem } from '../../support/use.js';

/** More by hand, each case in a process of its own: FUZZ_NESTING=each npx mocha test/src/skills/nesting.long.test.ts */
const EACH_FRESH = process.env.FUZZ_NESTING === 'each';
const FRONTMATTER = fileURLToPath(new URL('../../../src/skills/frontmatter.ts', import.meta.url));
const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

const OPENERS = ['- ', '? ', '[', '{a: ', '- [', '!!seq [', '? - '];
const LEAVES = ['', 'x', '"q', "'q'", '*a', '|', '&a x', '# c', ': '];
const DEPTHS = [101, 700, 1200, 2400, 5000];

const READS = `
  import { readFileSync } from 'node:fs';
  const { readSkillMd } = await import(${JSON.stringify(FRONTMATTER)});
  for (const yaml of JSON.parse(readFileSync(0, 'utf8'))) {
    for (const run of [1, 2]) {
      try {
        readSkillMd(Buffer.from('---\\n' + yaml + '\\n---\\n'));
        throw new Error('accepted');
      } catch (error) {
        if (error.type !== 'invalid_skill_bundle') throw error;
      }
    }
  }`;

/** Reads the frontmatters in a process that has read none before. Returns how it ended. */
async function readFresh(yamls: string[]): Promise<string> {
  const child = spawn(process.execPath, ['--import', TSX, '--input-type=module', '-e', READS]);
  child.stdin.end(JSON.stringify(yamls));
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += String(chunk)));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return code === 0 ? 'refused' : `${signal ?? code}: ${errors.slice(-1000)}`;
}

describe('nested frontmatter in a fresh process', function () {
  this.timeout(EACH_FRESH ? 3_600_000 : 120_000);

  for (const opener of OPENERS) {
    it(`nested frontmatter in a fresh process is refused after any number of ${JSON.stringify(opener)}, whatever follows`, async () => {
      const yamls = LEAVES.flatMap((leaf) => DEPTHS.map((depth) => `name: a\nx:\n  ${opener.repeat(depth)}${leaf}`));
      for (const batch of EACH_FRESH ? yamls.map((yaml) => [yaml]) : [yamls]) {
        expect(await readFresh(batch)).to.equal('refused');
      }
    });
  }

  describe('of the API', () => {
    const system = useFaultSystem({ apis: 1, workers: 0 });

    it('the API refuses two small SKILL.md files of 1,200 nested lists, and lives', async () => {
      const { url, pid } = system.apis[0]!;
      for (const attempt of [1, 2]) {
        const form = new FormData();
        form.set('file', new Blob([`---\n${'- '.repeat(1200)}\n---\n`]), 'SKILL.md');
        const answer = await fetch(`${url}/v1/skills`, {
          method: 'POST',
          headers: { authorization: `Bearer ${system.key}` },
          body: form,
        });
        expect(answer.status, `upload ${attempt}`).to.equal(422);
        expect(await answer.json()).to.have.nested.property('error.type', 'invalid_skill_bundle');
      }
      expect((await fetch(`${url}/healthz`)).status).to.equal(200);
      expect(system.apis[0]!.pid).to.equal(pid);
    });
  });
});

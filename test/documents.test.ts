import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { routes } from '../api/routes.js';
import { STORED_EVENT_TYPES } from '../src/events/schema.js';
import { SCOPES } from '../src/projects/permissions.js';
import { ERROR_STATUS } from '../src/platform/errors.js';
import { settingsPage } from '../dev/scripts/settings-page.js';
import { thirdPartyPage } from '../dev/scripts/third-party-page.js';
import { LIMITS } from './support/rows.js';

const page = (name: string): Promise<string> => readFile(new URL(`../${name}`, import.meta.url), 'utf8');

describe('the tables in the documents are those of the code', () => {
  it('docs/errors.md: every error type with its status', async () => {
    const rows = [...(await page('docs/errors.md')).matchAll(/^\| (\d{3}) \| `(\w+)` \|/gm)];
    expect(Object.fromEntries(rows.map(([, status, type]) => [type, Number(status)]))).to.deep.equal(ERROR_STATUS);
  });

  it('docs/limits.md: every limit that a test goes to', async () => {
    const text = (await page('docs/limits.md')).toLowerCase();
    for (const limit of LIMITS) {
      for (const figure of limit.match(/\d[\d,]*( (MiB|KiB))?/g) ?? [])
        expect(text, limit).to.contain(figure.toLowerCase());
    }
  });

  it('docs/interface.md: every permission, and every stored event', async () => {
    const text = await page('docs/interface.md');
    const permissions = [...text.matchAll(/^\| `(\w+:\w+)` \|/gm)].map(([, name]) => name);
    expect(permissions).to.deep.equal(SCOPES);
    for (const type of STORED_EVENT_TYPES) expect(text).to.contain(`\`${type}\``);
  });

  it('docs/streaming.md: every stored event', async () => {
    const text = await page('docs/streaming.md');
    for (const type of STORED_EVENT_TYPES) expect(text).to.contain(`\`${type}\``);
  });

  it('docs/errors.md and docs/contract.md: every kind of request that takes an Idempotency-Key', async () => {
    const [, errors] = /\*\*Idempotency-Key\.\*\*(.*?)\n\n/s.exec(await page('docs/errors.md'))!;
    const [, contract] = /^\| `Idempotency-Key` \(([^)]+)/m.exec(await page('docs/contract.md'))!;
    const takers = routes.filter(([, , , , { idempotent }]) => idempotent).map(([, path]) => path.split('/'));
    for (const [, , area, id, last] of takers) {
      const name = area === 'sessions' && id !== undefined ? last! : area!;
      expect(contract, name).to.contain(name);
      expect(errors, name).to.contain({ events: 'answers', 'mcp-servers': 'MCP servers' }[name] ?? name);
    }
  });

  it('THIRD-PARTY.md: every package that the service runs with, as `npm run third-party-page` writes it', async () => {
    expect(await page('THIRD-PARTY.md')).to.equal(thirdPartyPage());
  });

  it('docs/settings.md: every setting, as `npm run settings-page` writes it', async () => {
    expect(await page('docs/settings.md')).to.equal(settingsPage());
  });

  it('docs/architecture.md: at most 34 short files on the path of a message', async () => {
    const rows = [...(await page('docs/architecture.md')).matchAll(/^\| `([a-z/]+\/)` \| (`.+`) \|$/gm)];
    const files = rows.flatMap(([, room, names]) => names!.match(/[a-z/-]+/g)!.map((name) => `${room}${name}.ts`));
    expect(files.length).to.be.within(20, 34);
    for (const file of files) expect((await page(file)).split('\n').length, file).to.be.lessThan(217);
  });

  it('docs/README.md: every page', async () => {
    const index = await page('docs/README.md');
    for (const [, link] of index.matchAll(/\]\(([^)]+)\)/g)) expect(await page(`docs/${link}`), link).to.not.equal('');
  });
});

describe('the commands in the documents', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', 'client/README.md'].concat(
    readdirSync(new URL('../docs/', import.meta.url), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  );
  const blocks = async (name: string): Promise<string[]> =>
    [...(await page(name)).matchAll(/^( *)```(?:sh|bash)\n(.*?)^\1```/gms)].map(([, , block]) => block!);
  const here = (name: string): boolean => existsSync(new URL(`../${name}`, import.meta.url));

  for (const name of pages) {
    it(`${name}: can be parsed, and name scripts, files and outputs that exist`, async () => {
      const { scripts } = JSON.parse(await page('package.json')) as { scripts: Record<string, string> };
      const outputs = await page('deploy/gcp/outputs.tf');
      const ofPage = await blocks(name);
      execFileSync('bash', ['-n'], { input: ofPage.join('\n') });
      for (const block of ofPage) {
        for (const [, script] of block.matchAll(/\bnpm run (?:--silent |-s )?([\w:-]+)/g))
          expect(scripts, block).to.have.property(script!);
        for (const [file] of block.matchAll(/\bdeploy\/[\w./-]+\.\w+/g)) expect(here(file), file).to.equal(true);
        for (const [, output] of block.matchAll(/\boutput -raw (\w+)/g))
          expect(outputs).to.contain(`output "${output}"`);
      }
    });
  }
});

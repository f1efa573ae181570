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

const PAGES = ['README.md', 'CONTRIBUTING.md', 'client/README.md'].concat(
  readdirSync(new URL('../docs/', import.meta.url), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
);

const page = (name: string): Promise<string> => readFile(new URL(`../${name}`, import.meta.url), 'utf8');

describe('the tables in the documents are those of the code', () => {
  it('docs/errors.md has every error type with its status', async () => {
    const rows = [...(await page('docs/errors.md')).matchAll(/^\| (\d{3}) \| `(\w+)` \|/gm)];
    expect(Object.fromEntries(rows.map(([, status, type]) => [type, Number(status)]))).to.deep.equal(ERROR_STATUS);
  });

  it('docs/limits.md has every limit that a test goes to', async () => {
    const text = (await page('docs/limits.md')).toLowerCase();
    for (const limit of LIMITS) {
      for (const figure of limit.match(/\d[\d,]*( (MiB|KiB))?/g) ?? [])
        expect(text, limit).to.contain(figure.toLowerCase());
    }
  });

  it('docs/limits.md names each limit of a table once: two rows may say different things', async () => {
    for (const table of (await page('docs/limits.md')).split(/^#+ /m)) {
      const names = [...table.matchAll(/^\| (.+?) \| /gm)].map(([, name]) => name);
      expect(names, table.split('\n')[0]).to.deep.equal([...new Set(names)]);
    }
  });

  it('docs/interface.md has every permission, and every stored event', async () => {
    const text = await page('docs/interface.md');
    const permissions = [...text.matchAll(/^\| `(\w+:\w+)` \|/gm)].map(([, name]) => name);
    expect(permissions).to.deep.equal(SCOPES);
    for (const type of STORED_EVENT_TYPES) expect(text).to.contain(`\`${type}\``);
  });

  it('docs/streaming.md has every stored event', async () => {
    const text = await page('docs/streaming.md');
    for (const type of STORED_EVENT_TYPES) expect(text).to.contain(`\`${type}\``);
  });

  it('docs/errors.md and docs/decisions.md have every kind of request that takes an Idempotency-Key', async () => {
    const [, errors] = /\*\*Idempotency-Key\.\*\*(.*?)\n\n/s.exec(await page('docs/errors.md'))!;
    const [, contract] = /^\| `Idempotency-Key` \(([^)]+)/m.exec(await page('docs/decisions.md'))!;
    const takers = routes.filter(([, , , , { idempotent }]) => idempotent).map(([, path]) => path.split('/'));
    for (const [, , area, id, last] of takers) {
      const name = area === 'sessions' && id !== undefined ? last! : area!;
      expect(contract, name).to.contain(name);
      expect(errors, name).to.contain({ events: 'answers', 'mcp-servers': 'MCP servers' }[name] ?? name);
    }
  });

  it('THIRD-PARTY.md has every package that the service runs with, as `npm run third-party-page` writes it', async () => {
    expect(await page('THIRD-PARTY.md')).to.equal(thirdPartyPage());
  });

  it('docs/settings.md has every setting, as `npm run settings-page` writes it', async () => {
    expect(await page('docs/settings.md')).to.equal(settingsPage());
  });

  it('docs/README.md has every page', async () => {
    const index = await page('docs/README.md');
    for (const [, link] of index.matchAll(/\]\(([^)]+)\)/g)) expect(await page(`docs/${link}`), link).to.not.equal('');
  });
});

describe('the commands in the documents', () => {
  const blocks = async (name: string): Promise<string[]> =>
    [...(await page(name)).matchAll(/^( *)```(?:sh|bash)\n(.*?)^\1```/gms)].map(([, , block]) => block!);
  const here = (name: string): boolean => existsSync(new URL(`../${name}`, import.meta.url));

  for (const name of PAGES) {
    it(`the commands in ${name} can be parsed, and name scripts, files and outputs that exist`, async () => {
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

describe('what the documents say of the sources', () => {
  // Without `client`, whose modules are named as an import names them.
  const ROOMS = 'src|api|activities|workflows|console|ops|dev|temporal-dev|bench|examples|deploy|test';
  const PATH = `(?:${ROOMS})/[\\w./-]+`;
  const exists = (path: string): boolean =>
    [path, `${path}.ts`].some((name) => existsSync(new URL(`../${name}`, import.meta.url)));

  for (const name of PAGES) {
    it(`${name} names only files, and functions in them, that exist`, async () => {
      const text = await page(name);
      for (const [, path] of text.matchAll(new RegExp(`\`(${PATH})\``, 'g')))
        expect(exists(path!), path).to.equal(true);
      const inFiles = [
        ...text.matchAll(new RegExp(`\`(?<what>\\w+)\`(?: in | \\()\`(?<path>${PATH}\\.ts)\``, 'g')),
        ...text.matchAll(new RegExp(`^\\| \`(?<path>${PATH}\\.ts)\` \\| \`(?<what>\\w+)\` \\|`, 'gm')),
      ];
      for (const { groups } of inFiles) {
        const { what, path } = groups as { what: string; path: string };
        expect(await page(path), path).to.match(new RegExp(`\\b${what}\\b`));
      }
    });
  }

  it('docs/architecture.md tells the way of a message in four legs, each file with the function to read', async () => {
    const text = await page('docs/architecture.md');
    for (const leg of ['Accept', 'Run', 'Tool', 'Stream']) {
      const [, table] = new RegExp(`^\\*\\*${leg}\\.\\*\\*.*?\n\n(.*?)\n\n`, 'ms').exec(text)!;
      const rows = table!.split('\n').slice(2);
      expect(rows, leg).to.have.length.above(5);
      for (const row of rows) expect(row).to.match(new RegExp(`^\\| \`${PATH}\\.ts\` \\| \`\\w+\` \\| .+ \\|$`));
    }
  });
});

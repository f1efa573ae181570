import { expect } from 'chai';
import { gzipSync } from 'node:zlib';
import { VERSION } from '../../../src/platform/version.js';
import { startService } from '../../support/service.js';
import { useService } from '../../support/use.js';

/** What a first visit loads: the page, its script, its styles, and the fonts that these name. */
const MAX_COMPRESSED_BYTES = 250_000;

describe('/console', () => {
  const service = useService({ config: { temporalUiUrl: 'https://temporal.example.com' } });
  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(service.url + path, { headers, redirect: 'manual' });

  it('/console redirects to the page, relative to where it was asked for', async () => {
    const { status, headers } = await get('/console');
    expect(status).to.equal(308);
    expect(headers.get('location')).to.equal('console/');
  });

  it('/console serves a page that may not load inline content or content from other hosts', async () => {
    const page = await get('/console/');
    expect(page.status).to.equal(200);
    expect(page.headers.get('content-type')).to.match(/^text\/html/);
    const policy = page.headers.get('content-security-policy');
    for (const part of ["default-src 'none'", "style-src 'self'", "font-src 'self'", "connect-src 'self'"]) {
      expect(policy).to.contain(part);
    }
    expect(policy).to.not.contain('unsafe');
    const html = await page.text();
    // 'self' would allow the files of clients as scripts.
    const nonce = /script-src 'nonce-([^']+)';/.exec(policy!)?.[1];
    expect(nonce).to.match(/^[A-Za-z0-9+/]{22}==$/);
    expect(html.match(/<script /g)).to.have.length(1);
    expect(html).to.contain(`<script nonce="${nonce}" `);
    expect((await get('/console/')).headers.get('content-security-policy')).to.not.contain(nonce);
    expect(html).to.not.match(/<style|style=|<script(?![^>]* src=)|https?:/);
  });

  it('/console serves the assets of the page, cacheable forever, within the size limit', async () => {
    const html = await (await get('/console/')).text();
    const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link!);
    expect(links.some((link) => link.endsWith('.js'))).to.equal(true);
    let bytes = gzipSync(html).length;
    for (const link of links) {
      const answer = await get(new URL(link, 'http://host/console/').pathname);
      expect(answer.status, link).to.equal(200);
      if (link.includes('/assets/')) expect(answer.headers.get('cache-control'), link).to.contain('immutable');
      const content = await answer.text();
      bytes += gzipSync(content).length;
      const styles = link.endsWith('.css') ? new URL(link, `${service.url}/console/`) : null;
      for (const [, font] of content.matchAll(/url\(([^)]+\.woff2)\)/g)) {
        if (styles !== null) bytes += (await (await fetch(new URL(font!, styles))).arrayBuffer()).byteLength;
      }
    }
    expect(bytes).to.be.greaterThan(100_000);
    expect(bytes).to.be.lessThan(MAX_COMPRESSED_BYTES);
  });

  it('/console compresses for those who can read it', async () => {
    const zipped = await get('/console/', { 'Accept-Encoding': 'gzip' });
    const plain = await get('/console/', { 'Accept-Encoding': 'identity' });
    expect(zipped.headers.get('content-encoding')).to.equal('gzip');
    expect(plain.headers.get('content-encoding')).to.equal(null);
    expect(zipped.headers.get('vary')).to.contain('Accept-Encoding');
    const withoutNonce = async (page: Response): Promise<string> => (await page.text()).replace(/ nonce="[^"]*"/, '');
    expect(await withoutNonce(zipped)).to.equal(await withoutNonce(plain));
  });

  it('/console gives the names of a key, and the address of a turn in the Temporal UI, to requests with the key', async () => {
    const config = await get('/console/config.json', { Authorization: `Bearer ${service.key}` });
    expect(await config.json()).to.deep.equal({
      workflow_url: 'https://temporal.example.com/namespaces/default/workflows/{turn_id}',
      project: 'demo',
      key_name: null,
      approver_groups: [],
      version: VERSION,
    });
    const other = `Bearer ask_${'a'.repeat(43)}`;
    for (const headers of [{}, { Authorization: other }] as Record<string, string>[]) {
      const answer = await get('/console/config.json', headers);
      expect(answer.status).to.equal(401);
      expect(await answer.text()).to.not.contain('temporal.example.com');
    }
  });

  it('/console has no other paths', async () => {
    for (const path of ['/console/nothing', '/console/..%2fpackage.json', '/console/index.html']) {
      expect((await get(path)).status, path).to.equal(404);
    }
  });

  it('/console is off with CONSOLE=off', async () => {
    const closed = await startService({ config: { console: false } });
    const { status } = await fetch(`${closed.url}/console/`);
    await closed.close();
    expect(status).to.equal(404);
  });
});
